/** The JSON of keys in `/admin`, and its meaning for an operator. */
import { ago, count, period } from '../../format.ts'
import type { Tone } from '../../parts/state.tsx'
import type { ListedApiKey } from '../admin-types.ts'

/** A row of `GET /admin/keys`. */
export type KeyRow = ListedApiKey

/** The response that contains the key itself. */
export interface NewKey extends KeyRow {
  readonly key: string
}

const DAY_MS = 86_400_000
const UNUSED_AFTER_MS = 30 * DAY_MS
const EXPIRES_SOON_MS = 30 * DAY_MS

/** Returns the state of a key, the most urgent first. */
export function stateOf(key: KeyRow, nowMs: number): readonly [Tone, string] {
  if (key.revoked_at !== null) return ['bad', `Revoked ${ago(key.revoked_at, nowMs)}`]
  const refused = key.refused_24h ?? 0
  const until = (iso: string) => Date.parse(iso) - nowMs
  if (key.expires_at !== null && until(key.expires_at) <= 0) return ['bad', 'Expired']
  if (refused > 0) return ['bad', `Rejected ${count(refused, 'time')}`]
  if (key.expires_at !== null && until(key.expires_at) < EXPIRES_SOON_MS) {
    return ['warn', `Expires in ${period(until(key.expires_at))}`]
  }
  if (key.overlap_ends_at && until(key.overlap_ends_at) > 0) {
    return ['hold', `Old secret ends in ${period(until(key.overlap_ends_at))}`]
  }
  if (key.last_used_at === null) return ['idle', 'Never used']
  const idleMs = nowMs - Date.parse(key.last_used_at)
  if (idleMs > UNUSED_AFTER_MS) return ['idle', `Unused for ${period(idleMs)}`]
  return ['ok', 'Active']
}

/** Whether a request used the key in the last 24 hours: a customer then notices its end. */
export const isInUse = ({ last_used_at: at }: KeyRow, nowMs: number): boolean =>
  at !== null && nowMs - Date.parse(at) < DAY_MS
