/**
 * The partitions of a table whose ids begin with their time. A period of three days is a partition;
 * the partition `past` has all rows before the first period, `future` all rows after the last.
 * There is no DEFAULT partition: with one, PostgreSQL reads no list in the order of partitions.
 * Pure.
 */
import { lowestIdAt, timeOfId } from '../../kernel/id.ts'

const DAY_MS = 86_400_000
/**
 * Expired rows stay for up to one period more. Shorter periods are more partitions, each of which
 * costs a statement that reads all of them 2 to 20 µs.
 */
const PERIOD_MS = 3 * DAY_MS
/** Partitions exist this long before their first row. */
const AHEAD_MS = 3 * DAY_MS

export interface Partition {
  readonly name: string
  /** The lowest id; undefined: the partition `past`. */
  readonly from: string | undefined
  /** The id after the last one; undefined: the partition `future`. */
  readonly to: string | undefined
}

export interface Period {
  /** Epoch milliseconds. */
  readonly fromMs: number
  readonly toMs: number
}

export const startOfPeriod = (ms: number): number => Math.floor(ms / PERIOD_MS) * PERIOD_MS

/** Returns the start of the first period that begins at or after an instant. */
export const nextPeriod = (ms: number): number => Math.ceil(ms / PERIOD_MS) * PERIOD_MS

/**
 * Returns the periods from `fromMs` on that must exist now. After a long pause the first one
 * contains all periods that are over.
 */
export function periodsFrom(fromMs: number, nowMs: number): readonly Period[] {
  const periods: Period[] = []
  for (let start = fromMs; start < nowMs + AHEAD_MS; ) {
    const toMs = Math.max(startOfPeriod(start) + PERIOD_MS, startOfPeriod(nowMs))
    periods.push({ fromMs: start, toMs })
    start = toMs
  }
  return periods
}

/** `gh_events_20261125` */
export const partitionName = (table: string, { fromMs }: Period): string =>
  `${table}_${new Date(fromMs).toISOString().slice(0, 10).replaceAll('-', '')}`

/** Parses `FOR VALUES FROM ('evt_0VK') TO (MAXVALUE)`. */
export function parsePartition(name: string, bound: string): Partition {
  const [, from, to] = /FROM \((?:MINVALUE|'([^']+)')\) TO \((?:MAXVALUE|'([^']+)')\)/.exec(bound)!
  return { name, from, to }
}

/** Whether a partition has one period, so that its rows expire together. */
export function hasOnePeriod({ from, to }: Partition): boolean {
  if (from === undefined || to === undefined) return false
  return timeOfId(to)! - timeOfId(from)! <= PERIOD_MS
}

/** Orders partitions by their ids. */
export const compareParts = (a: Partition, b: Partition): number => {
  if (a.from === undefined || b.from === undefined) return a.from === undefined ? -1 : 1
  return a.from < b.from ? -1 : 1
}

/** Returns the partitions of periods that end before an instant, oldest first. */
export const expiredPartitions = (
  partitions: readonly Partition[],
  prefix: string,
  beforeMs: number,
): readonly Partition[] => {
  const bound = lowestIdAt(prefix, Math.max(0, beforeMs))
  return partitions.filter(({ from, to }) => from !== undefined && to !== undefined && to <= bound)
}

/** Returns the instant at which the partition `future` begins. */
export const startOfFuture = (partitions: readonly Partition[]): number =>
  timeOfId(partitions.find(({ to }) => to === undefined)!.from!)!
