/**
 * A key is changed in place (§13): narrowed by whoever holds `keys:write` for its customer, widened
 * by the operator only. Which changes widen a key is decided here.
 */
import { recordAudit } from '../audit/store.ts'
import { Failure, type FieldError } from '../kernel/failure.ts'
import {
  instant,
  invalidMembers,
  type Members,
  optional,
  orNull,
  readMembers,
  setOf,
} from '../kernel/members.ts'
import { isoTime } from '../kernel/time.ts'
import {
  ADMIN_SCOPE,
  type Administration,
  type Caller,
  isInReach,
  type Reach,
} from './administration.ts'
import { isWithin } from './cidr.ts'
import { type Key, keyRows } from './collections.ts'
import { knownScopes, misplacedAdmin } from './granting.ts'
import { cidr, MAX_CIDRS } from './keys.ts'
import { missingScope } from './scopes.ts'
import * as store from './store.ts'

const change = (admin: Administration) =>
  ({
    scopes: optional(knownScopes(admin)),
    cidrs: optional(setOf(cidr, MAX_CIDRS)),
    expires_at: optional(orNull(instant)),
  }) satisfies Members

/** What limits a key. */
interface Limits {
  readonly scopes: readonly string[]
  /** None: every address. */
  readonly cidrs: readonly string[]
  /** Epoch milliseconds; null: never. */
  readonly expiresAt: number | null
}

/**
 * Whether `after` permits anything that `before` does not. Each new range must lie in one of the
 * old ones: ranges that cover a new one only together count as widening.
 */
export function isWider(before: Limits, after: Limits): boolean {
  const scopes =
    !before.scopes.includes(ADMIN_SCOPE) &&
    after.scopes.some((scope) => !before.scopes.includes(scope))
  const anywhere = after.cidrs.length === 0
  const ranges =
    before.cidrs.length > 0 &&
    (anywhere || after.cidrs.some((range) => !isWithin(range, before.cidrs)))
  const time =
    before.expiresAt !== null && (after.expiresAt === null || after.expiresAt > before.expiresAt)
  return scopes || ranges || time
}

const limitsOf = (row: store.KeyRow): Limits => ({
  scopes: JSON.parse(row.scopes),
  cidrs: JSON.parse(row.cidrs),
  expiresAt: row.expires_at,
})

/**
 * Changes `{scopes?, cidrs?, expires_at?}` of a key in reach; every node follows within 2 s.
 * Without `reach` `all`, widening a key, and changing one that holds `admin`, is 403
 * `insufficient_scope`. Throws 404, 422, 409 `invalid_state` for an expired key.
 */
export async function patchKey(
  admin: Administration,
  id: string,
  input: unknown,
  { actor, reach }: Pick<Caller, 'actor'> & { readonly reach: Reach },
): Promise<Key> {
  const patch = readMembers(input, change(admin))
  const now = admin.clock.now()
  return admin.write(async (tx) => {
    const row = await store.lockKey(tx, id)
    if (!row || !isInReach(reach, row)) throw new Failure('not_found')
    if (row.expires_at !== null && row.expires_at <= now) {
      throw new Failure('invalid_state', 'The key has expired. Create a new one.')
    }
    const before = limitsOf(row)
    const after: Limits = {
      scopes: patch.scopes ?? before.scopes,
      cidrs: patch.cidrs ?? before.cidrs,
      expiresAt: patch.expires_at === undefined ? before.expiresAt : patch.expires_at,
    }
    const widened = isWider(before, after)
    const mayNot = widened || before.scopes.includes(ADMIN_SCOPE)
    if (reach !== 'all' && mayNot) throw missingScope(ADMIN_SCOPE)
    refuseContradictions(after, row, patch, now)
    const changed = {
      ...row,
      scopes: JSON.stringify(after.scopes),
      cidrs: JSON.stringify(after.cidrs),
      expires_at: after.expiresAt,
    }
    await store.updateKey(tx, changed)
    const detail = { ...shownChange(patch), widened }
    await recordAudit(tx, { actor, action: 'key.update', target: id, detail }, admin)
    tx.afterCommit(admin.changed)
    return keyRows.show(changed)
  })
}

type Patch = { readonly expires_at?: number | null | undefined }

/** For the audit trail: instants as callers write them. */
const shownChange = ({ expires_at, ...rest }: Patch) => ({
  ...rest,
  ...(expires_at !== undefined && {
    expires_at: expires_at === null ? null : isoTime(expires_at),
  }),
})

function refuseContradictions(
  after: Limits,
  { customer, mode }: store.KeyRow,
  patch: Patch,
  now: number,
): void {
  const errors: FieldError[] = []
  const misplaced = misplacedAdmin('keys', after.scopes, customer, mode)
  if (misplaced) errors.push(misplaced)
  if (patch.expires_at != null && patch.expires_at <= now) {
    const message = 'must lie in the future; revoke the key to end it now'
    errors.push({ pointer: '/expires_at', code: 'invalid_value', message })
  }
  if (errors.length > 0) throw invalidMembers(errors)
}
