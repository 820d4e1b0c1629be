/**
 * Reads ranges of events by the time of their recording (§17.2), in the order of ids. The id of an
 * event has the time of its call, and its transaction may commit hours later: those events are read
 * first, along an index of their own. Their deliveries have the same ids.
 */
import { lowestIdAt } from '../../kernel/id.ts'
import type { Reader } from '../../platform/storage/database.ts'
import { LATE, LATE_MS } from './tables.ts'

export interface RecordedRange {
  /** The first instant, in milliseconds. */
  readonly sinceMs: number
  /** The id before the first one; `BEFORE_ALL` at the beginning. */
  readonly after: string
  /** The last id. */
  readonly until: string
  readonly limit: number
}

/** The rows of a range that were recorded late, and the others. */
interface RangeReaders<R> {
  /** Reads the rows of `lateEvents`, whose values come first. */
  readonly late: (from: Reader, values: readonly unknown[], limit: number) => Promise<R[]>
  /** Reads the rows with ids from `after` to `until` that have an id after `first`, or the time. */
  readonly others: (reader: Reader, range: RecordedRange & { first: string }) => Promise<R[]>
}

type IdPrefix = 'evt_' | 'dlv_'

/** SQL of `e`, the events of `RangeReaders.late`. */
export const lateEvents = `(SELECT scope, id, type, created, recorded_at FROM gh_events
  WHERE scope = ? AND recorded_at >= ? AND ${LATE} AND id > ? AND id < ?) AS e`

/** Reads the next rows of a range; fewer than `limit` are the last ones. */
export async function readRecorded<R>(
  reader: Reader,
  scope: number,
  prefix: IdPrefix,
  range: RecordedRange,
  { late, others }: RangeReaders<R>,
): Promise<R[]> {
  const { sinceMs, after, limit } = range
  const near = lowestIdAt(prefix, Math.max(0, sinceMs - LATE_MS))
  const values = [scope, sinceMs, eventOfId(after), eventOfId(near)]
  const rows = after < near ? await late(reader, values, limit) : []
  if (rows.length === limit) return rows
  const rest = {
    ...range,
    after: after < near ? near : after,
    first: lowestIdAt(prefix, sinceMs),
    limit: limit - rows.length,
  }
  return [...rows, ...(await others(reader, rest))]
}

/** The characters of an event's id. */
const EVENT_ID_CHARACTERS = 26

/** Returns the id of the event of a delivery, or of an event. */
const eventOfId = (id: string): string => `evt_${id.slice(4, EVENT_ID_CHARACTERS)}`
