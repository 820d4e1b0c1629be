/**
 * Creates, revokes and rolls API keys (§3.2, §13). Each operation is one transaction that also
 * records its audit row. Updates are in `key-update.ts`.
 */
import { recordAudit } from '../audit/store.ts'
import { parseAddressRange } from '../kernel/address.ts'
import { generateApiKey } from '../kernel/api-key-format.ts'
import { Failure, type FieldError } from '../kernel/failure.ts'
import { createTimeOrderedId } from '../kernel/id.ts'
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
import { type AdminCaller, type Administration, customerId } from './administration.ts'
import { type ApiKeyJson, keyTable } from './collections.ts'
import { findMisplacedAdmin, holdCustomerScope, nameIn, scopeSet } from './grant-validation.ts'
import { createSecretStore, readOverlapMs } from './secret-store.ts'
import * as store from './store.ts'

const NAME_MAX = 200
export const MAX_CIDRS = 50
const MAX_KEYS_PER_CUSTOMER_AND_MODE = 10_000
const MAX_SECRETS = 5

const secrets = createSecretStore({
  table: 'gh_api_key_secrets',
  ownerColumn: 'key_id',
  maxSecrets: MAX_SECRETS,
  limitMessage:
    `At most ${MAX_SECRETS} secrets of a key are valid at the same time. ` +
    'Roll with a shorter overlap.',
})

/** A key in the only response that contains its text. */
export type NewApiKey = ApiKeyJson & { readonly key: string }

/** Reads an address or a CIDR range (RFC 4632 §3.1). */
export const addressRange: Read<string> = (value, wrong) =>
  typeof value === 'string' && parseAddressRange(value) !== undefined
    ? value
    : wrong('must be an address or a range, for example 203.0.113.0/24')

const members = (admin: Administration) =>
  ({
    name: required(line(NAME_MAX)),
    scopes: required(scopeSet(admin)),
    customer: optional(line(NAME_MAX)),
    mode: optional(oneOf('live', 'test')),
    expires_at: optional(orNull(instant)),
    cidrs: optional(setOf(addressRange, MAX_CIDRS)),
    api_version: optional(orNull(nameIn(new Set(admin.versions), 'version'))),
  }) satisfies Members

type KeyInput = ValuesOf<ReturnType<typeof members>>

/**
 * Creates a key from `{name, scopes[], customer?, mode?, expires_at?, cidrs?[], api_version?}`.
 * Throws 422 `validation_failed`, 409 `limit_reached`.
 */
export async function createKey(
  admin: Administration,
  input: unknown,
  caller: AdminCaller,
): Promise<NewApiKey> {
  const values = readMembers(input, members(admin))
  const customer = customerId(values.customer ?? caller.customer)
  const newKey = { ...values, customer, mode: values.mode ?? 'live' }
  const errors = findKeyErrors(newKey, admin.clock.now(), 'must lie in the future')
  if (errors.length > 0) throw invalidMembers(errors)
  return admin.write((tx) => {
    const key = generateApiKey(admin.random, newKey.mode)
    return writeKey(tx, admin, key, newKey, caller)
  })
}

/** Returns the errors of a misplaced `admin` scope and of an expiry in the past. */
export function findKeyErrors(
  key: {
    readonly scopes: readonly string[]
    readonly customer: string
    readonly mode: Mode
    readonly expires_at: number | null | undefined
  },
  nowMs: number,
  expiryMessage: string,
): FieldError[] {
  const errors: FieldError[] = []
  const scopeError = findMisplacedAdmin('keys', key.scopes, key.customer, key.mode)
  if (scopeError) errors.push(scopeError)
  if (key.expires_at != null && key.expires_at <= nowMs) {
    errors.push({ pointer: '/expires_at', code: 'invalid_value', message: expiryMessage })
  }
  return errors
}

/** Stores a key with the given text: a generated key, or the bootstrap key of the first start. */
export async function writeKey(
  tx: Tx,
  admin: Administration,
  key: string,
  input: KeyInput & { readonly customer: string; readonly mode: Mode },
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<NewApiKey> {
  const now = admin.clock.now()
  const { name, customer, mode, scopes } = input
  const scope = await holdCustomerScope(tx, customer, mode)
  if ((await store.countKeysIn(tx, scope)) >= MAX_KEYS_PER_CUSTOMER_AND_MODE) {
    throw new Failure(
      'limit_reached',
      `A customer has at most ${MAX_KEYS_PER_CUSTOMER_AND_MODE} keys per mode. Revoke some first.`,
    )
  }
  const row = {
    id: createTimeOrderedId('key_', now, admin.random),
    scope,
    customer,
    mode,
    name,
    scopes: JSON.stringify(scopes),
    cidrs: JSON.stringify(input.cidrs ?? []),
    api_version: input.api_version ?? null,
    hint: hintOf(key),
    created_at: now,
    expires_at: input.expires_at ?? null,
  }
  await store.insertKey(tx, row)
  await secrets.add(tx, row.id, key, now)
  const detail = { name, customer, mode, scopes }
  await recordAudit(tx, { actor, action: 'key.create', target: row.id, detail }, admin)
  const newRow = { ...row, last_used_at: null }
  await recordKeyEvent(tx, admin, 'key.created', newRow)
  return { ...keyTable.toJson(newRow), key }
}

/** Records an event in the key's customer and mode; its object is the key as lists return it. */
async function recordKeyEvent(
  tx: Tx,
  admin: Administration,
  type: 'key.created' | 'key.revoked',
  row: store.KeyRow,
): Promise<void> {
  const object = JSON.stringify(keyTable.toJson(row))
  const event = { type, collection: undefined, objectId: undefined, object }
  await admin.record?.(tx, row.scope as Scope, event)
}

/** Revokes a key with all its secrets at once. Throws 404, also for a revoked key. */
export async function revokeKey(
  admin: Administration,
  id: string,
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<void> {
  await admin.write(async (tx) => {
    const row = await store.lockKey(tx, id)
    if (!row) throw new Failure('not_found')
    await store.markRevoked(tx, id, admin.clock.now())
    await secrets.deleteAll(tx, id)
    await recordAudit(tx, { actor, action: 'key.revoke', target: id }, admin)
    await recordKeyEvent(tx, admin, 'key.revoked', row)
    tx.afterCommit(admin.onChange)
  })
}

/**
 * Generates a new secret for a key, from `{overlap_seconds?}` (default 24 h, at most 7 days). Older
 * secrets expire after the overlap, at once for 0. Throws 404, 422, 409 `invalid_state` for an
 * expired key, 409 `limit_reached` while too many older secrets are still valid.
 */
export async function rollKey(
  admin: Administration,
  id: string,
  input: unknown,
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<NewApiKey> {
  const overlapMs = readOverlapMs(input)
  return admin.write(async (tx) => {
    const now = admin.clock.now()
    const row = await store.lockKey(tx, id)
    if (!row) throw new Failure('not_found')
    if (row.expires_at !== null && row.expires_at <= now) {
      throw new Failure('invalid_state', 'The key has expired. Create a new one.')
    }
    const key = generateApiKey(admin.random, row.mode)
    const hint = hintOf(key)
    await secrets.replace(tx, id, key, now, overlapMs)
    await store.setHint(tx, id, hint)
    const detail = { overlap_seconds: overlapMs / 1000 }
    await recordAudit(tx, { actor, action: 'key.roll', target: id, detail }, admin)
    tx.afterCommit(admin.onChange)
    return { ...keyTable.toJson({ ...row, hint }), key }
  })
}

const hintOf = (key: string) => `${key.slice(0, 8)}…${key.slice(-4)}`
