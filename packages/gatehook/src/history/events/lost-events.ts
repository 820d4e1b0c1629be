/**
 * Finds the events that this process committed or sent, and that a promoted standby lacks. Contains
 * no detection of promotions.
 */

import type { Clock } from '../../kernel/clock.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { RecentItems } from '../../kernel/recent-items.ts'
import type { Database, Reader } from '../../platform/storage/database.ts'
import { prepareEvents } from './by-id.ts'
import type { Sink } from './store.ts'

/** An event that this process has committed. */
export interface RecentEvent {
  readonly scope: Scope
  readonly id: string
  readonly type: string
}

/** A standby lags by less than this, in events of one node and in time. */
const RECENT_MAX = 10_000
const RECENT_MS = 3_600_000

export const createRecentEvents = <E extends RecentEvent>(
  db: Pick<Database, 'recentWork'>,
  clock: Pick<Clock, 'elapsedMs'>,
): RecentItems<E> => db.recentWork({ clock, max: RECENT_MAX, maxAgeMs: RECENT_MS })

/** Returns a sink of the recorder that notes each event once it is durable. */
export const noteRecentEvents =
  (recent: RecentItems<RecentEvent>): Sink =>
  async (tx, { scope, id, type }) =>
    tx.afterCommit(() => recent.add({ scope, id, type }))

/** Ids that one statement looks up; unused parameters are empty, which is the id of no event. */
const IDS_AT_ONCE = 100
const existing = prepareEvents('id', IDS_AT_ONCE)

/** Returns those of `events` that the database does not contain. */
export async function findLostEvents<E extends RecentEvent>(
  reader: Reader,
  events: readonly E[],
): Promise<E[]> {
  const byScope = Map.groupBy(events, ({ scope }) => scope)
  const lost: E[] = []
  for (const [scope, ofScope] of byScope) {
    for (let at = 0; at < ofScope.length; at += IDS_AT_ONCE) {
      const some = ofScope.slice(at, at + IDS_AT_ONCE)
      const ids = Array.from({ length: IDS_AT_ONCE }, (_, n) => some[n]?.id ?? '')
      const rows = await reader.all<{ id: string }>(existing([...ids, scope]))
      const stored = new Set(rows.map(({ id }) => id))
      lost.push(...some.filter(({ id }) => !stored.has(id)))
    }
  }
  return lost
}
