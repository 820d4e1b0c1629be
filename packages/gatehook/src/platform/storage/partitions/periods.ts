/**
 * The partitions of a table whose ids begin with their time. A period of days is a partition; the
 * partition `past` has all rows before the first period, `future` all rows after the last.
 * There is no DEFAULT partition: with one, PostgreSQL reads no list in the order of partitions.
 * Pure.
 */
import { lowestIdAt, timeOfId } from '../../../kernel/id.ts'

export const DAY_MS = 86_400_000
/** Partitions exist this long before their first row. */
const AHEAD_MS = 3 * DAY_MS

/** How the rows of a table are divided. */
export interface Division {
  /**
   * Expired rows stay for up to one period more. Shorter periods are more partitions, each of which
   * costs a statement that reads all of them 2 to 20 µs.
   */
  readonly periodMs: number
  /** Returns the lowest id of an instant as the text of a literal. */
  readonly boundAt: (ms: number) => string
  /** Returns the instant of an id; 0 for one without a time. */
  readonly timeOf: (id: string | Uint8Array) => number
  /**
   * The share of changed rows from which on PostgreSQL vacuums a partition, instead of a fifth: for
   * partial indexes that most rows leave soon. Each search passes the entries that they left.
   */
  readonly vacuumShare?: number
}

/** Divides by ids with a prefix, such as `evt_`. */
export const byTextId = (prefix: string, periodMs: number): Division => ({
  periodMs,
  boundAt: (ms) => lowestIdAt(prefix, Math.max(0, ms)),
  timeOf: (id) => timeOfId(String(id)) ?? 0,
})

/** Ids that are hashes: four bytes, the start of the day, the hash. */
const DAY_ID_MARK = 'ffffffff'
const TIME_DIGITS = 12

const dayStart = (ms: number): string =>
  DAY_ID_MARK + Math.max(0, ms).toString(16).padStart(TIME_DIGITS, '0')

/** Returns the id of a hash in the day of an instant; it is as long as the hash. */
export function dayIdAt(hash: Uint8Array, ms: number): Buffer {
  const start = Buffer.from(dayStart(Math.floor(ms / DAY_MS) * DAY_MS), 'hex')
  return Buffer.concat([start, hash.subarray(0, hash.length - start.length)])
}

/** Divides by the ids of `dayIdAt`. */
export const byDayId: Division = {
  periodMs: DAY_MS,
  boundAt: (ms) => `\\x${dayStart(ms)}`,
  timeOf(id) {
    const digits = typeof id === 'string' ? id.slice(2) : Buffer.from(id).toString('hex')
    if (!digits.startsWith(DAY_ID_MARK)) return 0
    return Number.parseInt(digits.slice(DAY_ID_MARK.length).slice(0, TIME_DIGITS), 16)
  },
}

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

export const startOfPeriod = ({ periodMs }: Division, ms: number): number =>
  Math.floor(ms / periodMs) * periodMs

/** Returns the start of the first period that begins at or after an instant. */
export const nextPeriod = ({ periodMs }: Division, ms: number): number =>
  Math.ceil(ms / periodMs) * periodMs

/**
 * Returns the periods from `fromMs` on that must exist now. After a long pause the first one
 * contains all periods that are over.
 */
export function periodsFrom(division: Division, fromMs: number, nowMs: number): readonly Period[] {
  const periods: Period[] = []
  for (let start = fromMs; start < nowMs + AHEAD_MS; ) {
    const endMs = startOfPeriod(division, start) + division.periodMs
    const toMs = Math.max(endMs, startOfPeriod(division, nowMs))
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
export function hasOnePeriod({ periodMs, timeOf }: Division, { from, to }: Partition): boolean {
  return from !== undefined && to !== undefined && timeOf(to) - timeOf(from) <= periodMs
}

/** Orders partitions by their ids. */
export const compareParts = (a: Partition, b: Partition): number => {
  if (a.from === undefined || b.from === undefined) return a.from === undefined ? -1 : 1
  return a.from < b.from ? -1 : 1
}

/** Returns the partitions of periods that end before an instant, oldest first. */
export const expiredPartitions = (
  { timeOf }: Division,
  partitions: readonly Partition[],
  beforeMs: number,
): readonly Partition[] =>
  partitions.filter(
    ({ from, to }) => from !== undefined && to !== undefined && timeOf(to) <= beforeMs,
  )

/** Returns the instant at which the partition `future` begins. */
export const startOfFuture = ({ timeOf }: Division, partitions: readonly Partition[]): number =>
  timeOf(partitions.find(({ to }) => to === undefined)!.from!)
