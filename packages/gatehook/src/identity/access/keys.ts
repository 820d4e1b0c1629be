/**
 * Creates, takes over, revokes and rolls API keys (§3.2, §13, §17.3). Each operation is one
 * transaction that also records its audit row. Updates are in `key-update.ts`.
 */
import { recordAudit } from '../../history/audit/store.ts'
import { generateApiKey } from '../../kernel/api-key-format.ts'
import { Failure, type FieldError } from '../../kernel/failure.ts'
import { createTimeOrderedId } from '../../kernel/id.ts'
import type { Mode, Scope } from '../../kernel/principal.ts'
import { ConstraintError, type Tx } from '../../platform/storage/database.ts'
import { invalidMembers } from '../../protocol/fields/body.ts'
import type { ValuesOf } from '../../protocol/fields/members.ts'
import type { AdminCaller, Administration } from './administration.ts'
import { customerIdOf } from './customer-reader.ts'
import { findMisplacedScope, holdCustomerScope } from './grant-validation.ts'
import {
  type ApiKeyJson,
  type keyCreation,
  keyTable,
  type keyTakeOver,
  type NewApiKey,
  settingCells,
} from './key-members.ts'
import { requireAdministratorFor } from './scopes.ts'
import {
  createSecretStore,
  endingOf,
  endOfOverlap,
  type HashedSecret,
  hashSecret,
  overlapMs,
  type RotationOverlap,
} from './secret-store.ts'
import * as store from './store.ts'

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

type KeyInput = ValuesOf<ReturnType<typeof keyCreation>>

/**
 * Creates a key. Throws 422 `validation_failed` for values that do not fit together, 409
 * `limit_reached`, 403 for an operator that lacks a role.
 */
export async function createKey(
  admin: Administration,
  values: KeyInput,
  caller: AdminCaller,
): Promise<NewApiKey> {
  const newKey = await checkNewKey(admin, values, caller)
  return admin.write((tx) => {
    const key = generateApiKey(admin.random, newKey.mode)
    return writeKey(tx, admin, key, newKey, caller)
  })
}

/** Returns a new key with its customer and mode. Throws 422, and 403 for a lesser operator. */
async function checkNewKey(admin: Administration, values: KeyInput, caller: AdminCaller) {
  requireAdministratorFor(values.scopes, caller)
  const customer = await customerIdOf(admin.db, values.customer ?? caller.customer)
  const newKey = { ...values, customer, mode: values.mode ?? 'live' } as const
  const errors = findKeyErrors(newKey, admin.clock.now(), 'must lie in the future')
  if (errors.length > 0) throw invalidMembers(errors)
  return newKey
}

/**
 * Takes over a key of any form that the team has issued: the server receives its SHA-256 and a hint
 * (§17.3). Throws as `createKey`, and 409 `conflict` for a key that is registered.
 */
export async function takeOverKey(
  admin: Administration,
  { sha256, hint, ...values }: KeyInput & ValuesOf<typeof keyTakeOver>,
  caller: AdminCaller,
): Promise<ApiKeyJson> {
  if (sha256 === undefined || hint === undefined) {
    const pointer = sha256 === undefined ? '/sha256' : '/hint'
    const message = 'is required: sha256 and hint belong together'
    throw invalidMembers([{ pointer, code: 'required', message }])
  }
  const newKey = await checkNewKey(admin, values, caller)
  const secret = { hash: Buffer.from(sha256, 'hex'), ending: endingOf(hint) }
  return admin.write((tx) => storeKey(tx, admin, { ...secret, hint }, newKey, caller))
}

/** Returns the errors of a misplaced `admin` scope and of an expiry in the past. */
export function findKeyErrors(
  key: {
    readonly scopes: readonly string[]
    readonly customer: string
    readonly mode: Mode
    readonly expires_at?: number | null | undefined
  },
  nowMs: number,
  expiryMessage: string,
): FieldError[] {
  const errors: FieldError[] = []
  const scopeError = findMisplacedScope('keys', key.scopes, key.customer, key.mode)
  if (scopeError) errors.push(scopeError)
  if (key.expires_at != null && key.expires_at <= nowMs) {
    errors.push({ pointer: '/expires_at', code: 'invalid_value', message: expiryMessage })
  }
  return errors
}

type PlacedKey = KeyInput & { readonly customer: string; readonly mode: Mode }

/** Stores a key with the given text: a generated key, or the bootstrap key of the first start. */
export async function writeKey(
  tx: Tx,
  admin: Administration,
  key: string,
  input: PlacedKey,
  caller: Pick<AdminCaller, 'actor'>,
): Promise<NewApiKey> {
  const secret = { ...hashSecret(key), hint: hintOf(key) }
  return { ...(await storeKey(tx, admin, secret, input, caller)), key }
}

async function storeKey(
  tx: Tx,
  admin: Administration,
  { hint, ...secret }: HashedSecret & { readonly hint: string },
  input: PlacedKey,
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<ApiKeyJson> {
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
    cidrs: '[]',
    api_version: null,
    expires_at: null,
    ...settingCells(admin, input),
    name,
    scopes: JSON.stringify(scopes),
    hint,
    created_at: now,
    last_used_at: null,
  }
  await store.insertKey(tx, row)
  await addSecret(tx, row, secret, now)
  const detail = { name, customer, mode, scopes }
  await recordAudit(tx, { actor, action: 'key.create', target: row.id, scope, detail }, admin)
  await recordKeyEvent(tx, admin, 'key.created', row)
  return keyTable.toJson(row)
}

async function addSecret(tx: Tx, row: store.KeyRow, secret: HashedSecret, now: number) {
  try {
    await secrets.add(tx, row, secret, now)
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error
    throw new Failure(
      'conflict',
      'A key with this SHA-256 exists, or existed until it was revoked.',
    )
  }
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

/** The actor of a change of one key; `check` throws for a key that the actor must not change. */
interface KeyChange extends Pick<AdminCaller, 'actor' | 'role'> {
  readonly check?: (row: store.KeyRow) => void
}

/**
 * Revokes a key with all its secrets at once. The hashes stay, so that the request log can name the
 * key of a rejected request. Throws 404, also for a revoked key.
 */
export async function revokeKey(
  admin: Administration,
  id: string,
  { actor, role, check }: KeyChange,
): Promise<void> {
  await admin.write(async (tx) => {
    const row = await store.lockKey(tx, id)
    if (!row) throw new Failure('not_found')
    requireAdministratorFor(JSON.parse(row.scopes), { role })
    check?.(row)
    await store.markRevoked(tx, row, admin.clock.now())
    await admin.endGivenAccess?.(tx, { maker: id })
    await recordAudit(tx, { actor, action: 'key.revoke', target: id, scope: row.scope }, admin)
    await recordKeyEvent(tx, admin, 'key.revoked', row)
    tx.afterCommit(admin.onChange)
  })
}

/**
 * Generates a new secret for a key. Older secrets expire after the overlap, at once for 0. Throws
 * 404, 409 `invalid_state` for an expired key, 409 `limit_reached` while too many older secrets are
 * still valid.
 */
export async function rollKey(
  admin: Administration,
  id: string,
  overlap: RotationOverlap,
  { actor, role, check }: KeyChange,
): Promise<NewApiKey> {
  return admin.write(async (tx) => {
    const now = admin.clock.now()
    const row = await store.lockKey(tx, id)
    if (!row) throw new Failure('not_found')
    requireAdministratorFor(JSON.parse(row.scopes), { role })
    check?.(row)
    if (row.expires_at !== null && row.expires_at <= now) {
      throw new Failure('invalid_state', 'The key has expired. Create a new one.')
    }
    const key = generateApiKey(admin.random, row.mode)
    const hint = hintOf(key)
    await secrets.replace(tx, row, key, now, overlapMs(overlap))
    await store.setHint(tx, row, hint)
    await admin.endGivenAccess?.(tx, { maker: id, ...endOfOverlap(overlap, now) })
    const detail = { overlap_seconds: overlapMs(overlap) / 1000 }
    const { scope } = row
    await recordAudit(tx, { actor, action: 'key.roll', target: id, scope, detail }, admin)
    tx.afterCommit(admin.onChange)
    return { ...keyTable.toJson({ ...row, hint }), key }
  })
}

const hintOf = (key: string) => `${key.slice(0, 8)}…${endingOf(key)}`
