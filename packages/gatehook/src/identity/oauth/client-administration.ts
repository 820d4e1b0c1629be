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
import type { JsonOf, ValuesOf } from '../../protocol/fields/members.ts'
import { createAdminTable } from '../access/admin-table.ts'
import type { AdminCaller, Administration } from '../access/administration.ts'
import { customerIdOf } from '../access/customer-reader.ts'
import { findMisplacedScope, holdCustomerScope } from '../access/grant-validation.ts'
import {
  createSecretStore,
  endOfOverlap,
  hashSecret,
  overlapMs,
  type RotationOverlap,
  type SecretStore,
} from '../access/secret-store.ts'
import type { Tokens } from '../tokens/api.ts'
import { ID_TOKEN_ALGORITHMS } from '../tokens/id-token.ts'
import { type GrantType, JWT_BEARER_GRANT, PUBLIC_GRANT_TYPES } from './client.ts'
import { isHost, parseDocumentId } from './client-document.ts'
import {
  type clientCreation,
  type clientPatch,
  type clientWithSecret,
  oauthClient,
} from './client-members.ts'
import * as store from './client-store.ts'
import { deleteConsentsAtClient } from './consent-store.ts'

export const MAX_CLIENTS_PER_CUSTOMER_AND_MODE = 10_000
const MAX_SECRETS = 2
/** 256 bits in base62. */
const SECRET_CHARACTERS = 43

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
  const customer = await customerIdOf(admin.db, values.customer ?? caller.customer)
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
    jwks: values.jwks ? JSON.stringify(values.jwks) : null,
    jwks_uri: values.jwks_uri ?? null,
    require_client_auth_on_refresh: Number(values.require_client_auth_on_refresh ?? !isPublic),
    first_party: Number(values.first_party ?? false),
    id_token_signed_response_alg: values.id_token_signed_response_alg ?? ID_TOKEN_ALGORITHMS[0],
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
    const hasSecret = !isPublic && store.keysOf(row) === undefined
    const secret = hasSecret ? createSecret(admin.random) : undefined
    if (secret) await secrets.add(tx, { id: row.client_id, scope }, hashSecret(secret), now)
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
      ...mergeKeys(row, patch),
      name: patch.name ?? row.name,
      redirect_uris: merge(patch.redirect_uris, row.redirect_uris),
      scopes: merge(patch.scopes, row.scopes),
      grant_types: merge(patch.grant_types, row.grant_types),
      require_client_auth_on_refresh: Number(
        patch.require_client_auth_on_refresh ?? row.require_client_auth_on_refresh,
      ),
      first_party: Number(patch.first_party ?? row.first_party),
      id_token_signed_response_alg:
        patch.id_token_signed_response_alg ?? row.id_token_signed_response_alg,
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

/** Replaces the keys of a client. Throws 422 for both kinds at once, and for one with secrets. */
function mergeKeys(row: store.ClientRow, { jwks, jwks_uri }: ClientPatch) {
  if (jwks === undefined && jwks_uri === undefined) return {}
  if (!store.keysOf(row)) {
    const pointer = jwks ? '/jwks' : '/jwks_uri'
    const message = 'is for clients that were created with keys'
    throw invalidMembers([{ pointer, code: 'invalid_value', message }])
  }
  return { jwks: jwks ? JSON.stringify(jwks) : null, jwks_uri: jwks_uri ?? null }
}

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
    ...store.authenticationColumns({ isPublic: true, keys: undefined }),
    first_party: 0,
    id_token_signed_response_alg: ID_TOKEN_ALGORITHMS[0],
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
    if (store.keysOf(row)) throw new Failure('invalid_state', 'The client has keys, no secret.')
    const secret = createSecret(admin.random)
    await secrets.replace(tx, { id, scope: row.scope }, secret, now, overlapMs(overlap))
    await admin.endGivenAccess?.(tx, { maker: id, ...endOfOverlap(overlap, now) })
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
  if (row.jwks !== null && row.jwks_uri !== null) add('/jwks_uri', 'is not beside jwks')
  if (row.public && (row.jwks ?? row.jwks_uri) !== null)
    add('/public', 'is not for public clients: they have no keys')
  const scopes: string[] = JSON.parse(row.scopes)
  const scopeError = findMisplacedScope('clients', scopes, row.customer, row.mode)
  if (scopeError) errors.push(scopeError)
  for (const [position, type] of JSON.parse(row.grant_types).entries()) {
    const isConfidential = type === 'client_credentials' || type === JWT_BEARER_GRANT
    if (row.public && isConfidential) add(`/grant_types/${position}`, 'is not for public clients')
  }
  if (row.public && row.require_client_auth_on_refresh) {
    add('/require_client_auth_on_refresh', 'is not for public clients: they have no secret')
  }
  if (errors.length > 0) throw invalidMembers(errors)
}
