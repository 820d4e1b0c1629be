/**
 * What is done to API keys (§3.2, §13). Each act is one transaction with its line in the audit
 * trail.
 */
import { recordAudit } from '../audit/store.ts'
import { formatKey } from '../kernel/api-key-format.ts'
import { Failure, type FieldError } from '../kernel/failure.ts'
import { timeOrderedId } from '../kernel/id.ts'
import {
  instant,
  invalidMembers,
  line,
  type Members,
  oneOf,
  optional,
  orNull,
  type Read,
  readMembers,
  required,
  setOf,
  type ValuesOf,
} from '../kernel/members.ts'
import type { Mode, Scope } from '../kernel/principal.ts'
import type { Tx } from '../storage/database.ts'
import { type Administration, type Caller, customerId } from './administration.ts'
import { isCidr } from './cidr.ts'
import { type Key, keyRows } from './collections.ts'
import { heldScope, knownName, knownScopes, misplacedAdmin } from './granting.ts'
import { overlapMs, secretsIn } from './secrets.ts'
import * as store from './store.ts'

const NAME_MAX = 200
export const MAX_CIDRS = 50
const MAX_KEYS_PER_CUSTOMER_AND_MODE = 10_000
const MAX_SECRETS = 5

const secrets = secretsIn({
  table: 'gh_api_key_secrets',
  owner: 'key_id',
  most: MAX_SECRETS,
  refusal: `At most ${MAX_SECRETS} secrets of a key are good at once. Roll with a shorter overlap.`,
})

/** A key in the one answer that carries it. */
export type NewKey = Key & { readonly key: string }

export const cidr: Read<string> = (value, wrong) =>
  typeof value === 'string' && isCidr(value)
    ? value
    : wrong('must be an address or a range, for example 203.0.113.0/24')

const creation = (admin: Administration) =>
  ({
    name: required(line(NAME_MAX)),
    scopes: required(knownScopes(admin)),
    customer: optional(line(NAME_MAX)),
    mode: optional(oneOf('live', 'test')),
    expires_at: optional(orNull(instant)),
    cidrs: optional(setOf(cidr, MAX_CIDRS)),
    api_version: optional(orNull(knownName(new Set(admin.versions), 'version'))),
  }) satisfies Members

/**
 * Makes a key from `{name, scopes[], customer?, mode?, expires_at?, cidrs?[], api_version?}`. Only
 * this answer carries `key`. Throws 422 `validation_failed`, 409 `limit_reached`.
 */
export async function createKey(
  admin: Administration,
  input: unknown,
  caller: Caller,
): Promise<NewKey> {
  const wish = readMembers(input, creation(admin))
  const customer = customerId(wish.customer ?? caller.customer)
  const mode = wish.mode ?? 'live'
  const wrong = wrongTogether(wish, customer, mode, admin.clock.now())
  if (wrong.length > 0) throw invalidMembers(wrong)
  return admin.write((tx) => {
    const key = formatKey(admin.random, mode)
    return writeKey(tx, admin, key, { ...wish, customer, mode }, caller)
  })
}

type Wish = ValuesOf<ReturnType<typeof creation>>

function wrongTogether(wish: Wish, customer: string, mode: Mode, now: number): FieldError[] {
  const errors: FieldError[] = []
  const misplaced = misplacedAdmin('keys', wish.scopes, customer, mode)
  if (misplaced) errors.push(misplaced)
  if (wish.expires_at != null && wish.expires_at <= now) {
    errors.push({
      pointer: '/expires_at',
      code: 'invalid_value',
      message: 'must lie in the future',
    })
  }
  return errors
}

/** Stores a key whose text is given: a made one, or the operator's own at the first start. */
export async function writeKey(
  tx: Tx,
  admin: Administration,
  key: string,
  wish: Wish & { readonly customer: string; readonly mode: Mode },
  { actor }: Pick<Caller, 'actor'>,
): Promise<NewKey> {
  const now = admin.clock.now()
  const { name, customer, mode, scopes } = wish
  const scope = await heldScope(tx, customer, mode)
  if ((await store.countKeysOf(tx, scope)) >= MAX_KEYS_PER_CUSTOMER_AND_MODE) {
    const most = `${MAX_KEYS_PER_CUSTOMER_AND_MODE} keys`
    throw new Failure(
      'limit_reached',
      `A customer has at most ${most} per mode. Revoke some first.`,
    )
  }
  const row = {
    id: timeOrderedId('key_', now, admin.random),
    scope,
    customer,
    mode,
    name,
    scopes: JSON.stringify(scopes),
    cidrs: JSON.stringify(wish.cidrs ?? []),
    api_version: wish.api_version ?? null,
    hint: hintOf(key),
    created_at: now,
    expires_at: wish.expires_at ?? null,
  }
  await store.insertKey(tx, row)
  await secrets.add(tx, row.id, key, now)
  const detail = { name, customer, mode, scopes }
  await recordAudit(tx, { actor, action: 'key.create', target: row.id, detail }, admin)
  const made = { ...row, last_used_at: null }
  await told(tx, admin, 'key.created', made)
  return { ...keyRows.show(made), key }
}

/** An event in the key's own customer and mode; its object is the key as lists show it. */
async function told(tx: Tx, admin: Administration, type: string, row: store.KeyRow): Promise<void> {
  const object = JSON.stringify(keyRows.show(row))
  const event = { type, collection: undefined, objectId: undefined, object }
  await admin.record?.(tx, row.scope as Scope, event)
}

/**
 * The key is dead at once, all its secrets with it. Throws 404, also when it was revoked before.
 */
export async function revokeKey(
  admin: Administration,
  id: string,
  { actor }: Pick<Caller, 'actor'>,
): Promise<void> {
  await admin.write(async (tx) => {
    const row = await store.lockKey(tx, id)
    if (!row) throw new Failure('not_found')
    await store.markRevoked(tx, id, admin.clock.now())
    await secrets.drop(tx, id)
    await recordAudit(tx, { actor, action: 'key.revoke', target: id }, admin)
    await told(tx, admin, 'key.revoked', row)
    tx.afterCommit(admin.changed)
  })
}

/**
 * A new secret under the same id, from `{overlap_seconds?}` (default 24 h, at most 7 days). Older
 * secrets live no longer than the overlap: 0 ends them all at once. Throws 404, 422, 409
 * `invalid_state` for an expired key, 409 `limit_reached` while too many older secrets are still
 * good.
 */
export async function rollKey(
  admin: Administration,
  id: string,
  input: unknown,
  { actor }: Pick<Caller, 'actor'>,
): Promise<NewKey> {
  const overlap = overlapMs(input)
  return admin.write(async (tx) => {
    const now = admin.clock.now()
    const row = await store.lockKey(tx, id)
    if (!row) throw new Failure('not_found')
    if (row.expires_at !== null && row.expires_at <= now) {
      throw new Failure('invalid_state', 'The key has expired. Create a new one.')
    }
    const key = formatKey(admin.random, row.mode)
    await secrets.replace(tx, id, key, now, overlap)
    await store.setHint(tx, id, hintOf(key))
    const detail = { overlap_seconds: overlap / 1000 }
    await recordAudit(tx, { actor, action: 'key.roll', target: id, detail }, admin)
    tx.afterCommit(admin.changed)
    return { ...keyRows.show({ ...row, hint: hintOf(key) }), key }
  })
}

const hintOf = (key: string) => `${key.slice(0, 8)}…${key.slice(-4)}`
