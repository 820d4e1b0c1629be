/** A kind of item of attention: the sources that it reads, and the items that it returns. */
import type { Calendar } from '../../declare/versions/calendar.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Reader } from '../../platform/storage/database.ts'
import type { FullServer } from '../system/full-server.ts'
import type { HeldLock } from '../system/lock-holders.ts'
import type { ErrorCause } from './attention-store.ts'
import type { NodeRegistry } from './nodes.ts'
import type { AttentionItem } from './operations.ts'

export type Severity = AttentionItem['severity']

export interface AttentionSources {
  /** The engine's database. */
  readonly db: Reader
  /** Whether the primary of the database is away, as far as this node knows. */
  readonly isAway: () => boolean
  readonly monitoring: Reader
  readonly clock: Clock
  /** The versions with their calendars. */
  readonly versions: () => readonly { readonly version: string; readonly calendar: Calendar }[]
  readonly nodes: Pick<NodeRegistry, 'own' | 'listOthers' | 'listEnded'>
  /** Returns the sessions for which statements or event streams wait. */
  readonly lockHolders: () => readonly HeldLock[]
  /** Returns the connections of a server of the database that has none left. */
  readonly fullServer: FullServer['current']
  /** Returns the cause of the last failure of a caller's request at this node, if it has one. */
  readonly lastCause: () => ErrorCause | undefined
  /** Returns the time after which an attempt at a job of the service fails. */
  readonly jobTimeoutMs: (name: string) => number | undefined
}

export type AttentionKind = (sources: AttentionSources, now: number) => Promise<AttentionItem[]>

export const instant = (ms: number | null): string | null => (ms === null ? null : isoTime(ms))
export const modeName = (isLive: number): string => (isLive === 1 ? 'live' : 'test')

export function itemOf(
  kind: string,
  severity: Severity,
  sinceMs: number,
  rest: Pick<AttentionItem, 'subject' | 'facts'> &
    Partial<Pick<AttentionItem, 'customer' | 'mode'>>,
): AttentionItem {
  const { subject, facts, customer = null, mode = null } = rest
  const since = isoTime(sinceMs)
  return { id: `${kind}.${subject.id}`, kind, severity, since, subject, facts, customer, mode }
}
