/**
 * Updates API keys in place (§13). A holder of `keys:write` narrows keys of its own customer and
 * mode; only an operator widens a key. `isWider` decides which updates widen.
 */
import type { Actor } from '../../history/audit/actor.ts'
import { recordAudit } from '../../history/audit/store.ts'
import { createRangeMatcher, parseAddressRange } from '../../kernel/address.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Mode, Principal } from '../../kernel/principal.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { invalidMembers } from '../../protocol/fields/body.ts'
import type { ValuesOf } from '../../protocol/fields/members.ts'
import {
  ADMIN_SCOPE,
  type AdminCaller,
  type Administration,
  isInstallationScope,
} from './administration.ts'
import { type ApiKeyJson, type keyPatch, keyTable, settingCells } from './key-members.ts'
import { findKeyErrors } from './keys.ts'
import { missingScope, requireAdministratorFor } from './scopes.ts'
import * as store from './store.ts'

/** The keys that a principal may update: its customer's in its mode, or all with `admin`. */
type KeyReach = 'all' | { readonly customer: string; readonly mode: Mode }

export const keyReachOf = ({ scopes, customer, mode }: Principal): KeyReach =>
  scopes.has(ADMIN_SCOPE) ? 'all' : { customer, mode }

export const isKeyInReach = (
  reach: KeyReach,
  key: { readonly customer: string; readonly mode: string },
): boolean => reach === 'all' || (key.customer === reach.customer && key.mode === reach.mode)

type KeyPatch = ValuesOf<ReturnType<typeof keyPatch>>

interface KeyRestrictions {
  readonly scopes: readonly string[]
  /** Empty: every address. */
  readonly cidrs: readonly string[]
  /** Epoch milliseconds; null: never. */
  readonly expiresAt: number | null
}

/** Returns whether every address of `range` lies in a single range of `outer`. */
function isWithin(range: string, outer: readonly string[]): boolean {
  const inner = parseAddressRange(range)!
  return outer.some((text) => {
    const { bits, family } = parseAddressRange(text)!
    return (
      family === inner.family && bits <= inner.bits && createRangeMatcher([text])(inner.address)
    )
  })
}

/**
 * Returns whether `after` permits anything that `before` does not. Each new range must lie in one
 * of the old ranges: a new range that only several old ones cover together counts as wider.
 */
function isWider(before: KeyRestrictions, after: KeyRestrictions): boolean {
  const addsScope =
    !before.scopes.includes(ADMIN_SCOPE) &&
    after.scopes.some((scope) => !before.scopes.includes(scope))
  const addsAddress =
    before.cidrs.length > 0 &&
    (after.cidrs.length === 0 || after.cidrs.some((range) => !isWithin(range, before.cidrs)))
  const addsTime =
    before.expiresAt !== null && (after.expiresAt === null || after.expiresAt > before.expiresAt)
  return addsScope || addsAddress || addsTime
}

/**
 * Updates members of a key in reach; every node applies it within 2 s.
 * Without `reach` `all`, widening a key, and updating one with a scope of the installation, is 403
 * `insufficient_scope`. Throws 404, 422, 409 `invalid_state` for an expired key.
 */
export async function updateKey(
  admin: Administration,
  id: string,
  patch: KeyPatch,
  { actor, role, reach }: Pick<AdminCaller, 'actor' | 'role'> & { readonly reach: KeyReach },
): Promise<ApiKeyJson> {
  const now = admin.clock.now()
  return admin.write(async (tx) => {
    const row = await store.lockKey(tx, id)
    if (!row || !isKeyInReach(reach, row)) throw new Failure('not_found')
    if (row.expires_at !== null && row.expires_at <= now) {
      throw new Failure('invalid_state', 'The key has expired. Create a new one.')
    }
    const before: KeyRestrictions = {
      scopes: JSON.parse(row.scopes),
      cidrs: JSON.parse(row.cidrs),
      expiresAt: row.expires_at,
    }
    const after: KeyRestrictions = {
      scopes: patch.scopes ?? before.scopes,
      cidrs: patch.cidrs ?? before.cidrs,
      expiresAt: patch.expires_at === undefined ? before.expiresAt : patch.expires_at,
    }
    const widened = isWider(before, after)
    const requiresAdmin = widened || before.scopes.some(isInstallationScope)
    if (reach !== 'all' && requiresAdmin) throw missingScope(ADMIN_SCOPE)
    requireAdministratorFor([...before.scopes, ...after.scopes], { role })
    const { customer, mode } = row
    const expiryMessage = 'must lie in the future; revoke the key to end it now'
    const { scopes } = after
    const errors = findKeyErrors(
      { scopes, customer, mode, expires_at: patch.expires_at },
      now,
      expiryMessage,
    )
    if (errors.length > 0) throw invalidMembers(errors)
    return writeUpdate(tx, admin, row, patch, { actor, widened })
  })
}

interface UpdateEntry {
  readonly actor: Actor
  readonly widened: boolean
}

/** Whether addresses that could use a key no longer can: links and sessions from there end. */
const isNarrowed = (before: readonly string[], after: readonly string[] = []): boolean =>
  after.length > 0 && (before.length === 0 || before.some((range) => !isWithin(range, after)))

async function writeUpdate(
  tx: Tx,
  admin: Administration,
  row: store.KeyRow,
  patch: KeyPatch,
  { actor, widened }: UpdateEntry,
): Promise<ApiKeyJson> {
  const { expires_at, ...sets } = patch
  const cells = settingCells(admin, patch)
  await store.updateKey(tx, row, cells)
  const isLess = patch.scopes && !patch.scopes.includes(ADMIN_SCOPE)
  if (isLess || isNarrowed(JSON.parse(row.cidrs), patch.cidrs)) {
    await admin.endGivenAccess?.(tx, { maker: row.id })
  } else if (expires_at != null) {
    await admin.endGivenAccess?.(tx, { maker: row.id, at: expires_at })
  }
  const expiry = expires_at == null ? expires_at : isoTime(expires_at)
  const detail = { ...sets, ...(expiry !== undefined && { expires_at: expiry }), widened }
  const { id: target, scope } = row
  await recordAudit(tx, { actor, action: 'key.update', target, scope, detail }, admin)
  tx.afterCommit(admin.onChange)
  return keyTable.toJson({ ...row, ...cells })
}

/** The `detail` of `key.update` in the audit trail. */
interface RecordedUpdate extends Omit<KeyPatch, 'expires_at'> {
  readonly expires_at?: string | null
  readonly widened: boolean
}

/**
 * Repeats an update of the audit trail on restored data (§18.5). The rules for new requests do not
 * apply: a key whose expiry has passed since is expired. Throws 404.
 */
export const repeatKeyUpdate = (
  admin: Administration,
  id: string,
  { widened, expires_at, ...sets }: RecordedUpdate,
  actor: Actor,
): Promise<ApiKeyJson> =>
  admin.write(async (tx) => {
    const row = await store.lockKey(tx, id)
    if (!row) throw new Failure('not_found')
    const expiry = expires_at == null ? expires_at : Date.parse(expires_at)
    const patch = { ...sets, ...(expiry !== undefined && { expires_at: expiry }) }
    return writeUpdate(tx, admin, row, patch, { actor, widened })
  })
