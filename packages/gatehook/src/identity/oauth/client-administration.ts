/**
 * Administers OAuth clients (§5.5, §13): lists them, creates, updates and deletes them, and rotates
 * their secrets. Each change is one transaction with its audit entry.
 */

import type { Actor } from '../../history/audit/actor.ts'
import { recordAudit } from '../../history/audit/store.ts'
import { randomBase62 } from '../../kernel/base62.ts'
import { Failure, type FieldError } from '../../kernel/failure.ts'
import { createTimeOrderedId } from '../../kernel/id.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Random } from '../../kernel/random.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { invalidMembers } from '../../protocol/fields/body.ts'
import { b, type JsonOf, type ValuesOf } from '../../protocol/fields/members.ts'
import { createAdminTable } from '../access/admin-table.ts'
import { type AdminCaller, type Administration, customerId } from '../access/administration.ts'
import { mode } from '../access/collections.ts'
import { findMisplacedScope, holdCustomerScope, scopeSet } from '../access/grant-validation.ts'
import {
  createSecretStore,
  overlapMs,
  type RotationOverlap,
  type SecretStore,
} from '../access/secret-store.ts'
import type { Tokens } from '../tokens/api.ts'
import { CLIENT_SOURCES, GRANT_TYPES, type GrantType, PUBLIC_GRANT_TYPES } from './client.ts'
import { isHost, parseDocumentId } from './client-document.ts'
import { MAX_REDIRECT_URIS } from './client-metadata.ts'
import * as store from './client-store.ts'
import { deleteConsentsAtClient } from './consent-store.ts'
import { findRegistrationFault, REDIRECT_URI_MAX } from './redirect-uri.ts'

const NAME_MAX = 200
export const MAX_CLIENTS_PER_CUSTOMER_AND_MODE = 10_000
const MAX_SECRETS = 2
/** 256 bits in base62. */
const SECRET_CHARACTERS = 43

const clientMembers = {
  client_id: b.text().example('client_01jdq8w9vgk7'),
  name: b.text().example('Shop'),
  redirect_uris: b.list(b.text()).example(['https://shop.example.com/callback']),
  scopes: b.list(b.text()).example(['webhooks:read']),
  grant_types: b.list(b.oneOf(GRANT_TYPES)),
  public: b.bool().describe('The client has no secret (RFC 6749 §2.1).').example(false),
  require_client_auth_on_refresh: b.bool(),
  first_party: b.bool().describe('Persons need not consent.').example(false),
  source: b
    .oneOf([...CLIENT_SOURCES, 'host'])
    .describe('`registration`, `document`: it describes itself; `host`: documents are blocked.'),
  blocked: b
    .bool()
    .describe('Its requests, refreshes and access tokens are rejected.')
    .example(false),
  customer: b
    .text()
    .nullable()
    .describe('null: the person who signs in decides.')
    .example('cus_01jdq8w9vgk7'),
  mode: mode.nullable(),
  created_at: b.time(),
}

/** A client as the administration returns it. */
export const oauthClient = b.object(clientMembers).named('Client')

/** A client in the only response that contains its new secret; a public client has none. */
export const clientWithSecret = b
  .object({
    ...clientMembers,
    client_secret: b
      .text()
      .optional()
      .describe('The secret; absent for a public client. Only this response contains it.')
      .example('gs_6fQx0N2mVYq3sK8rT1uWzB4cD7eH9jLp5aG2xYz01AB'),
  })
  .named('ClientWithSecret')

type ClientJson = JsonOf<typeof oauthClient>
export type ClientWithSecret = JsonOf<typeof clientWithSecret>

export const clientTable = createAdminTable({
  row: oauthClient,
  path: '/admin/clients',
  name: 'clients',
  table: 'gh_clients',
  filter: ['client_id', 'name', 'public', 'source', 'blocked', 'customer', 'mode', 'created_at'],
  sort: ['client_id', 'name', 'created_at'],
  indexes: [
    ['client_id'],
    ['name', 'client_id'],
    ['created_at', 'client_id'],
    ['customer', 'client_id'],
  ],
  where: 'deleted_at IS NULL',
})

export const secrets: SecretStore = createSecretStore({
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

const redirectUri = b
  .matching(/^[^'*;,#]+$/, 'a URI of plain characters, without wildcards and a fragment', {
    format: 'uri',
    max: REDIRECT_URI_MAX,
  })
  .example('https://shop.example.com/callback')
  .refine((uri, reject) => {
    const fault = findRegistrationFault(uri)
    return fault === undefined ? uri : reject(fault)
  })

export const clientPatch = (admin: Pick<Administration, 'scopes'>) => ({
  name: b.line(NAME_MAX).optional().example('Shop'),
  redirect_uris: b.set(redirectUri, { max: MAX_REDIRECT_URIS }).optional(),
  scopes: scopeSet(admin).optional(),
  grant_types: b
    .set(b.oneOf(GRANT_TYPES), { max: GRANT_TYPES.length })
    .optional()
    .describe(
      'Default of a new client: code and refresh with redirect URIs, client credentials without. ' +
        'Client credentials act without a person, for the whole customer.',
    ),
  require_client_auth_on_refresh: b.bool().optional(),
  first_party: b.bool().optional().describe('Persons need not consent.'),
  blocked: b
    .bool()
    .optional()
    .describe('Rejects its requests, refreshes and access tokens.')
    .example(true),
})

export const clientCreation = (admin: Pick<Administration, 'scopes'>) => {
  const { blocked: _, ...members } = clientPatch(admin)
  return {
    ...members,
    name: b.line(NAME_MAX).example('Shop'),
    scopes: scopeSet(admin).example(['webhooks:read']),
    public: b.bool().optional().describe('The client has no secret (RFC 6749 §2.1).'),
    customer: b.line(NAME_MAX).optional(),
    mode: mode.optional(),
  }
}

/** Grants with a person for a client to which persons return, the grant without one for others. */
const defaultGrants = (isPublic: boolean, redirectUris: readonly string[]): readonly GrantType[] =>
  isPublic || redirectUris.length > 0 ? PUBLIC_GRANT_TYPES : ['client_credentials']

/**
 * Creates a client. By default, a confidential client must authenticate to refresh (§5.4). Throws
 * 422 `validation_failed` for values that do not fit together, 409 `limit_reached`.
 */
export async function createClient(
  admin: ClientAdministration,
  values: ValuesOf<ReturnType<typeof clientCreation>>,
  caller: AdminCaller,
): Promise<ClientWithSecret> {
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
      values.grant_types ?? defaultGrants(isPublic, values.redirect_uris ?? []),
    ),
    public: Number(isPublic),
    require_client_auth_on_refresh: Number(values.require_client_auth_on_refresh ?? !isPublic),
    first_party: Number(values.first_party ?? false),
    source: 'administration' as const,
    blocked: 0,
    used_at: null,
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
    if (secret) await secrets.add(tx, { id: row.client_id, scope }, secret, now)
    const { name, mode } = row
    const detail = { name, customer, mode, scopes: values.scopes, public: isPublic }
    const entry = { actor: caller.actor, action: 'client.create', target: row.client_id, detail }
    await recordAudit(tx, { ...entry, scope }, admin)
    return { ...clientTable.toJson({ ...row, scope }), ...(secret && { client_secret: secret }) }
  })
}

type ClientPatch = ValuesOf<ReturnType<typeof clientPatch>>

/**
 * Updates a client. The change applies to later requests and to access tokens issued before, on
 * each node within 2 s. Throws 404 `not_found`, 422 `validation_failed`.
 */
export const updateClient = (
  admin: ClientAdministration,
  id: string,
  patch: ClientPatch,
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<ClientJson> => mergeClient(admin, id, patch, { actor, verify: assertConsistent })

/**
 * Repeats an update of the audit trail on restored data (§18.5). The rules for new requests do not
 * apply. Throws 404.
 */
export const repeatClientUpdate = (
  admin: ClientAdministration,
  id: string,
  patch: ClientPatch,
  actor: Actor,
): Promise<ClientJson> => mergeClient(admin, id, patch, { actor, verify: () => undefined })

interface ClientMerge extends Pick<AdminCaller, 'actor'> {
  readonly verify: (row: store.ClientRow) => void
}

const mergeClient = (
  admin: ClientAdministration,
  id: string,
  patch: ClientPatch,
  { actor, verify }: ClientMerge,
): Promise<ClientJson> =>
  admin.write(async (tx) => {
    const row = await lockOrCreate(admin, tx, id, patch)
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
      blocked: Number(patch.blocked ?? row.blocked),
    }
    verify(updatedRow)
    await store.updateClient(tx, updatedRow)
    const affectsTokens = (['scopes', 'first_party', 'blocked'] as const).some(
      (column) => updatedRow[column] !== row[column],
    )
    const changedId = row.source === 'host' ? 'all' : id
    const scope = scopeOfRow(row)
    if (affectsTokens) await admin.tokens.publishClientChange(tx, scope, changedId)
    const entry = { actor, action: 'client.update', target: id, scope, detail: patch }
    await recordAudit(tx, entry, admin)
    tx.afterCommit(() => admin.evict(id))
    return clientTable.toJson(updatedRow)
  })

const scopeOfRow = ({ scope }: store.ClientRow) =>
  (scope === 0 ? undefined : scope) as Scope | undefined

/**
 * Locks a client. The block of a host, or of a document without a consent, creates its row. Throws
 * 404, and 422 for members that a document decides.
 */
async function lockOrCreate(
  admin: ClientAdministration,
  tx: Tx,
  id: string,
  { blocked, ...more }: ClientPatch,
): Promise<store.ClientRow> {
  const row = await store.lockClient(tx, id)
  if (row?.source === 'administration') return row
  const url = parseDocumentId(id)
  if (!row && !url && !isHost(id)) throw new Failure('not_found')
  const errors = Object.entries(more)
    .filter(([, value]) => value !== undefined)
    .map(([name]) => ({
      pointer: `/${name}`,
      code: 'invalid_value' as const,
      message: 'is not for a client that describes itself, which can only be blocked',
    }))
  if (errors.length > 0) throw invalidMembers(errors)
  if (row) return row
  if (blocked !== true) throw new Failure('not_found')
  const created: store.ClientRow = {
    client_id: id,
    scope: 0,
    customer: null,
    mode: null,
    name: url?.host ?? id,
    redirect_uris: '[]',
    scopes: '[]',
    grant_types: '[]',
    public: 1,
    require_client_auth_on_refresh: 0,
    first_party: 0,
    source: url ? 'document' : 'host',
    blocked: 0,
    used_at: null,
    created_at: admin.clock.now(),
  }
  await store.insertClient(tx, created)
  return created
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
    if (row.source === 'document' || row.source === 'host') {
      throw new Failure('invalid_state', 'A document describes this client: block it instead.')
    }
    await store.markClientDeleted(tx, id, admin.clock.now())
    await secrets.deleteAll(tx, { id, scope: row.scope })
    await deleteConsentsAtClient(tx, id)
    const scope = scopeOfRow(row)
    await admin.tokens.revokeClient(tx, scope, id)
    await recordAudit(tx, { actor, action: 'client.delete', target: id, scope }, admin)
    tx.afterCommit(() => admin.evict(id))
  })
}

/**
 * Adds a secret; the old one stays valid for the overlap. Throws 404 `not_found`, 409
 * `invalid_state` for a public client, 409 `limit_reached` while two secrets are valid.
 */
export async function rotateSecret(
  admin: ClientAdministration,
  id: string,
  overlap: RotationOverlap,
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<ClientWithSecret> {
  return admin.write(async (tx) => {
    const now = admin.clock.now()
    const row = await store.lockClient(tx, id)
    if (!row) throw new Failure('not_found')
    if (row.public) throw new Failure('invalid_state', 'A public client has no secret.')
    const secret = createSecret(admin.random)
    await secrets.replace(tx, { id, scope: row.scope }, secret, now, overlapMs(overlap))
    const detail = { overlap_seconds: overlapMs(overlap) / 1000 }
    const { scope } = row
    const entry = { actor, action: 'client.rotate_secret', target: id, scope, detail }
    await recordAudit(tx, entry, admin)
    tx.afterCommit(() => admin.evict(id))
    return { ...clientTable.toJson(row), client_secret: secret }
  })
}

export const createSecret = (random: Random): string =>
  `gs_${randomBase62(random, SECRET_CHARACTERS)}`

/** Throws 422 `validation_failed` for members that contradict each other. */
function assertConsistent(row: Omit<store.ClientRow, 'scope'>): void {
  if (row.customer === null || row.mode === null) return
  const errors: FieldError[] = []
  const add = (pointer: string, message: string) =>
    errors.push({ pointer, code: 'invalid_value', message })
  const scopes: string[] = JSON.parse(row.scopes)
  const scopeError = findMisplacedScope('clients', scopes, row.customer, row.mode)
  if (scopeError) errors.push(scopeError)
  const position = JSON.parse(row.grant_types).indexOf('client_credentials')
  if (row.public && position >= 0) add(`/grant_types/${position}`, 'is not for public clients')
  if (row.public && row.require_client_auth_on_refresh) {
    add('/require_client_auth_on_refresh', 'is not for public clients: they have no secret')
  }
  if (errors.length > 0) throw invalidMembers(errors)
}
