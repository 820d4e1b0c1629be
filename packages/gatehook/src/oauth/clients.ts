/**
 * What is done to clients (§5.5, §13). Each act is one transaction with its line in the audit
 * trail.
 */
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
import type { Random } from '../kernel/random.ts'
import type { Tokens } from '../tokens/api.ts'
import { GRANT_TYPES, PUBLIC_GRANT_TYPES } from './client.ts'
import { clientRows, type ShownClient } from './client-collection.ts'
import * as store from './client-store.ts'
import { dropConsentsAt } from './consent-store.ts'
import { whyNotRegistrable } from './redirect-uri.ts'

const NAME_MAX = 200
const MAX_REDIRECTS = 50
const MAX_CLIENTS_PER_CUSTOMER_AND_MODE = 10_000
const MAX_SECRETS = 2

const secrets = createSecretStore({
  table: 'gh_client_secrets',
  ownerColumn: 'client_id',
  maxSecrets: MAX_SECRETS,
  limitMessage:
    `At most ${MAX_SECRETS} secrets of a client are good at once. ` +
    'Rotate with overlap_seconds 0.',
})

/** 43 characters of base62 are 256 bits. */
const SECRET_CHARACTERS = 43

/** A client in the one answer that carries its secret; a public one has none. */
export type NewClient = ShownClient & { readonly client_secret?: string }

/** What these acts take: the house's administration, and who ends what was issued. */
export interface ClientAdministration extends Administration {
  readonly tokens: Pick<Tokens, 'revokeClient' | 'publishClientChange'>
  /** Told after each committed change, so that this node forgets what it knew of the client. */
  readonly forget: (clientId: string) => void
}

const redirectUri: Read<string> = (value, wrong) => {
  if (typeof value !== 'string') return wrong('must be a string')
  const why = whyNotRegistrable(value)
  return why === undefined ? value : wrong(why)
}

const members = (admin: Administration) =>
  ({
    name: optional(line(NAME_MAX)),
    redirect_uris: optional(setOf(redirectUri, MAX_REDIRECTS)),
    scopes: optional(scopeSet(admin)),
    grant_types: optional(setOf(oneOf(...GRANT_TYPES), GRANT_TYPES.length)),
    require_client_auth_on_refresh: optional(bool),
    first_party: optional(bool),
  }) satisfies Members

const creation = (admin: Administration) => {
  const all = members(admin)
  return {
    ...all,
    name: required(all.name.read),
    scopes: required(all.scopes.read),
    public: optional(bool),
    customer: optional(line(NAME_MAX)),
    mode: optional(oneOf('live', 'test')),
  } satisfies Members
}

/**
 * Makes a client from `{name, scopes[], redirect_uris?[], public?, grant_types?[],
 * require_client_auth_on_refresh?, first_party?, customer?, mode?}`. Only this answer carries
 * `client_secret`. A client with a secret needs it to refresh, unless the wish says otherwise.
 * Throws 422 `validation_failed`, 409 `limit_reached`.
 */
export async function createClient(
  admin: ClientAdministration,
  input: unknown,
  caller: AdminCaller,
): Promise<NewClient> {
  const wish = readMembers(input, creation(admin))
  const customer = customerId(wish.customer ?? caller.customer)
  const isPublic = wish.public ?? false
  const now = admin.clock.now()
  const row = {
    client_id: createTimeOrderedId('client_', now, admin.random),
    customer,
    mode: wish.mode ?? 'live',
    name: wish.name,
    redirect_uris: JSON.stringify(wish.redirect_uris ?? []),
    scopes: JSON.stringify(wish.scopes),
    grant_types: JSON.stringify(wish.grant_types ?? (isPublic ? PUBLIC_GRANT_TYPES : GRANT_TYPES)),
    public: Number(isPublic),
    require_client_auth_on_refresh: Number(wish.require_client_auth_on_refresh ?? !isPublic),
    first_party: Number(wish.first_party ?? false),
    created_at: now,
  }
  refuseContradictions(row)
  return admin.write(async (tx) => {
    const scope = await holdCustomerScope(tx, customer, row.mode)
    if ((await store.countClientsOf(tx, scope)) >= MAX_CLIENTS_PER_CUSTOMER_AND_MODE) {
      const most = `${MAX_CLIENTS_PER_CUSTOMER_AND_MODE} clients`
      throw new Failure('limit_reached', `A customer has at most ${most} per mode.`)
    }
    await store.insertClient(tx, { ...row, scope })
    const secret = isPublic ? undefined : newSecret(admin.random)
    if (secret) await secrets.add(tx, row.client_id, secret, now)
    const { name, mode } = row
    const detail = { name, customer, mode, scopes: wish.scopes, public: isPublic }
    const act = { actor: caller.actor, action: 'client.create', target: row.client_id, detail }
    await recordAudit(tx, act, admin)
    return { ...clientRows.toJson({ ...row, scope }), ...(secret && { client_secret: secret }) }
  })
}

/**
 * Changes `{name?, redirect_uris?, scopes?, grant_types?, require_client_auth_on_refresh?,
 * first_party?}`. What
 * is asked for after it is judged by it, on every node within 2 s, with access tokens issued
 * before: none carries more than its client has. Throws 404, 422.
 */
export async function patchClient(
  admin: ClientAdministration,
  id: string,
  input: unknown,
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<ShownClient> {
  const patch = readMembers(input, members(admin))
  return admin.write(async (tx) => {
    const row = await store.lockClient(tx, id)
    if (!row) throw new Failure('not_found')
    const list = (value: readonly string[] | undefined, stored: string) =>
      value === undefined ? stored : JSON.stringify(value)
    const changed: store.ClientRow = {
      ...row,
      name: patch.name ?? row.name,
      redirect_uris: list(patch.redirect_uris, row.redirect_uris),
      scopes: list(patch.scopes, row.scopes),
      grant_types: list(patch.grant_types, row.grant_types),
      require_client_auth_on_refresh: Number(
        patch.require_client_auth_on_refresh ?? row.require_client_auth_on_refresh,
      ),
      first_party: Number(patch.first_party ?? row.first_party),
    }
    refuseContradictions(changed)
    await store.updateClient(tx, changed)
    const narrowed = changed.scopes !== row.scopes || changed.first_party !== row.first_party
    if (narrowed) await admin.tokens.publishClientChange(tx, id)
    await recordAudit(tx, { actor, action: 'client.update', target: id, detail: patch }, admin)
    tx.afterCommit(() => admin.forget(id))
    return clientRows.toJson(changed)
  })
}

/** The client is gone, and with it whatever was issued to it. Throws 404. */
export async function deleteClient(
  admin: ClientAdministration,
  id: string,
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<void> {
  await admin.write(async (tx) => {
    const row = await store.lockClient(tx, id)
    if (!row) throw new Failure('not_found')
    await store.markDeleted(tx, id, admin.clock.now())
    await secrets.deleteAll(tx, id)
    await dropConsentsAt(tx, id)
    await admin.tokens.revokeClient(tx, row.scope as never, id)
    await recordAudit(tx, { actor, action: 'client.delete', target: id }, admin)
    tx.afterCommit(() => admin.forget(id))
  })
}

/**
 * A new secret beside the old one, from `{overlap_seconds?}` (default 24 h, at most 7 days; 0 ends
 * the old one at once). Throws 404, 422, 409 `invalid_state` for a public client, 409
 * `limit_reached` while two are good already.
 */
export async function rotateSecret(
  admin: ClientAdministration,
  id: string,
  input: unknown,
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<NewClient> {
  const overlap = readOverlapMs(input)
  return admin.write(async (tx) => {
    const now = admin.clock.now()
    const row = await store.lockClient(tx, id)
    if (!row) throw new Failure('not_found')
    if (row.public) throw new Failure('invalid_state', 'A public client has no secret.')
    const secret = newSecret(admin.random)
    await secrets.replace(tx, id, secret, now, overlap)
    const detail = { overlap_seconds: overlap / 1000 }
    await recordAudit(tx, { actor, action: 'client.rotate_secret', target: id, detail }, admin)
    tx.afterCommit(() => admin.forget(id))
    return { ...clientRows.toJson(row), client_secret: secret }
  })
}

const newSecret = (random: Random): string => `gs_${randomBase62(random, SECRET_CHARACTERS)}`

/** What no client can be, whoever asks for it. */
function refuseContradictions(row: Omit<store.ClientRow, 'scope'>): void {
  const wrong: FieldError[] = []
  const say = (pointer: string, message: string) =>
    wrong.push({ pointer, code: 'invalid_value', message })
  const scopes: string[] = JSON.parse(row.scopes)
  const misplaced = findMisplacedAdmin('clients', scopes, row.customer, row.mode)
  if (misplaced) wrong.push(misplaced)
  const own = JSON.parse(row.grant_types).indexOf('client_credentials')
  if (row.public && own >= 0) say(`/grant_types/${own}`, 'is not for public clients')
  if (row.public && row.require_client_auth_on_refresh) {
    say('/require_client_auth_on_refresh', 'is not for public clients: they have no secret')
  }
  if (wrong.length > 0) throw invalidMembers(wrong)
}
