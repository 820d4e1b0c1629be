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

/** `GET /admin/scopes`. */
export interface ScopeRow {
  readonly name: string
  readonly words: string
  readonly kind: 'account' | 'read' | 'write' | 'all' | 'action'
}

const DAY_MS = 86_400_000
const UNUSED_AFTER_MS = 30 * DAY_MS
const EXPIRES_SOON_MS = 30 * DAY_MS

interface KeyState {
  readonly tone: Tone
  readonly words: string
}

/** Returns the state of a key, the most urgent first. */
export function stateOf(key: KeyRow, nowMs: number): KeyState {
  if (key.revoked_at !== null)
    return { tone: 'bad', words: `Revoked ${ago(key.revoked_at, nowMs)}` }
  const refused = key.refused_24h ?? 0
  const until = (iso: string) => Date.parse(iso) - nowMs
  if (key.expires_at !== null && until(key.expires_at) <= 0)
    return { tone: 'bad', words: 'Expired' }
  if (refused > 0) return { tone: 'bad', words: `Rejected ${count(refused, 'time')}` }
  if (key.expires_at !== null && until(key.expires_at) < EXPIRES_SOON_MS) {
    return { tone: 'warn', words: `Expires in ${period(until(key.expires_at))}` }
  }
  if (key.overlap_ends_at && until(key.overlap_ends_at) > 0) {
    return { tone: 'hold', words: `Old secret ends in ${period(until(key.overlap_ends_at))}` }
  }
  if (key.last_used_at === null) return { tone: 'idle', words: 'Never used' }
  const idleMs = nowMs - Date.parse(key.last_used_at)
  if (idleMs > UNUSED_AFTER_MS) return { tone: 'idle', words: `Unused for ${period(idleMs)}` }
  return { tone: 'ok', words: 'Active' }
}

/** Whether a request used the key in the last 24 hours: a customer then notices its end. */
export const isInUse = ({ last_used_at: at }: KeyRow, nowMs: number): boolean =>
  at !== null && nowMs - Date.parse(at) < DAY_MS
