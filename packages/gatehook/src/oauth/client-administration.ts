/**
 * Administers OAuth clients (§5.5, §13): lists them, creates, updates and deletes them, and rotates
 * their secrets. Each change is one transaction with its audit entry.
 */
import { createAdminTable } from '../access/admin-table.ts'
import { type AdminCaller, type Administration, customerId } from '../access/administration.ts'
import { findMisplacedAdmin, holdCustomerScope, scopeSet } from '../access/grant-validation.ts'
import { createSecretStore, readOverlapMs } from '../access/secret-store.ts'
import { recordAudit } from '../audit/store.ts'
import { randomBase62 } from '../kernel/base62.ts'
import { Failure, type FieldError } from '../kernel/failure.ts'
import { createTimeOrderedId } from '../kernel/id.ts'
import {
  bool,
  invalidMembers,
  line,
  type Members,
  oneOf,
  optional,
  type Read,
  readMembers,
  required,
  setOf,
} from '../kernel/members.ts'
import type { Scope } from '../kernel/principal.ts'
import type { Random } from '../kernel/random.ts'
import type { Tokens } from '../tokens/api.ts'
import { GRANT_TYPES, type GrantType, PUBLIC_GRANT_TYPES } from './client.ts'
import * as store from './client-store.ts'
import { deleteConsentsAtClient } from './consent-store.ts'
import { findRegistrationFault } from './redirect-uri.ts'

const NAME_MAX = 200
const MAX_REDIRECT_URIS = 50
const MAX_CLIENTS_PER_CUSTOMER_AND_MODE = 10_000
const MAX_SECRETS = 2
/** 256 bits in base62. */
const SECRET_CHARACTERS = 43

/** A client as the administration returns it. */
interface ClientJson {
  readonly client_id: string
  readonly name: string
  readonly redirect_uris: readonly string[]
  readonly scopes: readonly string[]
  readonly grant_types: readonly GrantType[]
  readonly public: boolean
  readonly require_client_auth_on_refresh: boolean
  readonly first_party: boolean
  readonly customer: string
  readonly mode: 'live' | 'test'
  readonly created_at: string
}

/** A client in the only response that contains its new secret; a public client has none. */
export type ClientWithSecret = ClientJson & { readonly client_secret?: string }

export const clientTable = createAdminTable<ClientJson>(
  {
    name: 'clients',
    table: 'gh_clients',
    columns: [
      { name: 'client_id', type: 'text' },
      { name: 'name', type: 'text' },
      { name: 'redirect_uris', type: 'json' },
      { name: 'scopes', type: 'json' },
      { name: 'grant_types', type: 'json' },
      { name: 'public', type: 'bool' },
      { name: 'require_client_auth_on_refresh', type: 'bool' },
      { name: 'first_party', type: 'bool' },
      { name: 'customer', type: 'text' },
      { name: 'mode', type: 'text', oneOf: ['live', 'test'] },
      { name: 'created_at', type: 'time' },
    ],
    filter: ['client_id', 'name', 'public', 'customer', 'mode', 'created_at'],
    sort: ['client_id', 'name', 'created_at'],
    indexes: [
      ['client_id'],
      ['name', 'client_id'],
      ['created_at', 'client_id'],
      ['customer', 'client_id'],
    ],
    where: 'deleted_at IS NULL',
  },
  '/admin/clients',
)

const secrets = createSecretStore({
  table: 'gh_client_secrets',
  ownerColumn: 'client_id',
  maxSecrets: MAX_SECRETS,
  limitMessage:
    `A client has at most ${MAX_SECRETS} valid secrets at once. ` +
    'Rotate with overlap_seconds 0.',
})

/** The dependencies of the operations on clients. */
export interface ClientAdministration extends Administration {
  readonly tokens: Pick<Tokens, 'revokeClient' | 'publishClientChange'>
  /** Evicts a client from this node's cache; called after the commit of each change. */
  readonly evict: (clientId: string) => void
}

const redirectUri: Read<string> = (value, wrong) => {
  if (typeof value !== 'string') return wrong('must be a string')
  const fault = findRegistrationFault(value)
  return fault === undefined ? value : wrong(fault)
}

const membersOf = (admin: Administration) =>
  ({
    name: optional(line(NAME_MAX)),
    redirect_uris: optional(setOf(redirectUri, MAX_REDIRECT_URIS)),
    scopes: optional(scopeSet(admin)),
    grant_types: optional(setOf(oneOf(...GRANT_TYPES), GRANT_TYPES.length)),
    require_client_auth_on_refresh: optional(bool),
    first_party: optional(bool),
  }) satisfies Members

const creationMembersOf = (admin: Administration) => {
  const members = membersOf(admin)
  return {
    ...members,
    name: required(members.name.read),
    scopes: required(members.scopes.read),
    public: optional(bool),
    customer: optional(line(NAME_MAX)),
    mode: optional(oneOf('live', 'test')),
  } satisfies Members
}

/**
 * Creates a client from `{name, scopes[], redirect_uris?[], public?, grant_types?[],
 * require_client_auth_on_refresh?, first_party?, customer?, mode?}`. By default, a confidential
 * client must authenticate to refresh (§5.4). Throws 422 `validation_failed`, 409 `limit_reached`.
 */
export async function createClient(
  admin: ClientAdministration,
  input: unknown,
  caller: AdminCaller,
): Promise<ClientWithSecret> {
  const values = readMembers(input, creationMembersOf(admin))
  const customer = customerId(values.customer ?? caller.customer)
  const isPublic = values.public ?? false
  const now = admin.clock.now()
  const row = {
    client_id: createTimeOrderedId('client_', now, admin.random),
    customer,
    mode: values.mode ?? 'live',
    name: values.name,
    redirect_uris: JSON.stringify(values.redirect_uris ?? []),
    scopes: JSON.stringify(values.scopes),
    grant_types: JSON.stringify(
      values.grant_types ?? (isPublic ? PUBLIC_GRANT_TYPES : GRANT_TYPES),
    ),
    public: Number(isPublic),
    require_client_auth_on_refresh: Number(values.require_client_auth_on_refresh ?? !isPublic),
    first_party: Number(values.first_party ?? false),
    created_at: now,
  }
  assertConsistent(row)
  return admin.write(async (tx) => {
    const scope = await holdCustomerScope(tx, customer, row.mode)
    if ((await store.countClients(tx, scope)) >= MAX_CLIENTS_PER_CUSTOMER_AND_MODE) {
      const limit = `${MAX_CLIENTS_PER_CUSTOMER_AND_MODE} clients`
      throw new Failure('limit_reached', `A customer has at most ${limit} per mode.`)
    }
    await store.insertClient(tx, { ...row, scope })
    const secret = isPublic ? undefined : createSecret(admin.random)
    if (secret) await secrets.add(tx, row.client_id, secret, now)
    const { name, mode } = row
    const detail = { name, customer, mode, scopes: values.scopes, public: isPublic }
    const entry = { actor: caller.actor, action: 'client.create', target: row.client_id, detail }
    await recordAudit(tx, entry, admin)
    return { ...clientTable.toJson({ ...row, scope }), ...(secret && { client_secret: secret }) }
  })
}

/**
 * Updates `{name?, redirect_uris?, scopes?, grant_types?, require_client_auth_on_refresh?,
 * first_party?}`. The change applies to later requests and to access tokens issued before, on each
 * node within 2 s. Throws 404 `not_found`, 422 `validation_failed`.
 */
export async function updateClient(
  admin: ClientAdministration,
  id: string,
  input: unknown,
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<ClientJson> {
  const patch = readMembers(input, membersOf(admin))
  return admin.write(async (tx) => {
    const row = await store.lockClient(tx, id)
    if (!row) throw new Failure('not_found')
    const merge = (values: readonly string[] | undefined, stored: string) =>
      values === undefined ? stored : JSON.stringify(values)
    const updatedRow: store.ClientRow = {
      ...row,
      name: patch.name ?? row.name,
      redirect_uris: merge(patch.redirect_uris, row.redirect_uris),
      scopes: merge(patch.scopes, row.scopes),
      grant_types: merge(patch.grant_types, row.grant_types),
      require_client_auth_on_refresh: Number(
        patch.require_client_auth_on_refresh ?? row.require_client_auth_on_refresh,
      ),
      first_party: Number(patch.first_party ?? row.first_party),
    }
    assertConsistent(updatedRow)
    await store.updateClient(tx, updatedRow)
    const affectsTokens =
      updatedRow.scopes !== row.scopes || updatedRow.first_party !== row.first_party
    if (affectsTokens) await admin.tokens.publishClientChange(tx, id)
    await recordAudit(tx, { actor, action: 'client.update', target: id, detail: patch }, admin)
    tx.afterCommit(() => admin.evict(id))
    return clientTable.toJson(updatedRow)
  })
}

/** Deletes a client and revokes all its tokens and consents. Throws 404 `not_found`. */
export async function deleteClient(
  admin: ClientAdministration,
  id: string,
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<void> {
  await admin.write(async (tx) => {
    const row = await store.lockClient(tx, id)
    if (!row) throw new Failure('not_found')
    await store.markClientDeleted(tx, id, admin.clock.now())
    await secrets.deleteAll(tx, id)
    await deleteConsentsAtClient(tx, id)
    await admin.tokens.revokeClient(tx, row.scope as Scope, id)
    await recordAudit(tx, { actor, action: 'client.delete', target: id }, admin)
    tx.afterCommit(() => admin.evict(id))
  })
}

/**
 * Adds a secret, from `{overlap_seconds?}`: how long the old secret stays valid (default 24 h, at
 * most 7 days). Throws 404 `not_found`, 422 `validation_failed`, 409 `invalid_state` for a public
 * client, 409 `limit_reached` while two secrets are valid.
 */
export async function rotateSecret(
  admin: ClientAdministration,
  id: string,
  input: unknown,
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<ClientWithSecret> {
  const overlapMs = readOverlapMs(input)
  return admin.write(async (tx) => {
    const now = admin.clock.now()
    const row = await store.lockClient(tx, id)
    if (!row) throw new Failure('not_found')
    if (row.public) throw new Failure('invalid_state', 'A public client has no secret.')
    const secret = createSecret(admin.random)
    await secrets.replace(tx, id, secret, now, overlapMs)
    const detail = { overlap_seconds: overlapMs / 1000 }
    await recordAudit(tx, { actor, action: 'client.rotate_secret', target: id, detail }, admin)
    tx.afterCommit(() => admin.evict(id))
    return { ...clientTable.toJson(row), client_secret: secret }
  })
}

const createSecret = (random: Random): string => `gs_${randomBase62(random, SECRET_CHARACTERS)}`

/** Throws 422 `validation_failed` for members that contradict each other. */
function assertConsistent(row: Omit<store.ClientRow, 'scope'>): void {
  const errors: FieldError[] = []
  const add = (pointer: string, message: string) =>
    errors.push({ pointer, code: 'invalid_value', message })
  const scopes: string[] = JSON.parse(row.scopes)
  const scopeError = findMisplacedAdmin('clients', scopes, row.customer, row.mode)
  if (scopeError) errors.push(scopeError)
  const position = JSON.parse(row.grant_types).indexOf('client_credentials')
  if (row.public && position >= 0) add(`/grant_types/${position}`, 'is not for public clients')
  if (row.public && row.require_client_auth_on_refresh) {
    add('/require_client_auth_on_refresh', 'is not for public clients: they have no secret')
  }
  if (errors.length > 0) throw invalidMembers(errors)
}
