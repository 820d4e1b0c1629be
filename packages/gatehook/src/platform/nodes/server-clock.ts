/**
 * The clock of the machine of PostgreSQL, against that of a node. Times in rows are those of nodes,
 * which therefore must agree with each other; the server is a witness, and so are the reports of
 * other nodes. The clock with which most of them agree is right.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { SteadyClock } from '../../kernel/steady-clock.ts'
import { type Database, StorageWaitError, type Value } from '../storage/database.ts'
import { serverClockOf } from '../storage/server-check.ts'
import { isInstalled } from '../storage/settings.ts'
import { raw, type Sql, sql } from '../storage/sql.ts'
import { GONE_AFTER_MS, HEARTBEAT_MS, lastReportsOf, SIGN_MS } from './registry.ts'

/** Clock difference that is reported: comparisons between nodes tolerate as much. */
const CLOCK_WARN_MS = 2_000
/** Clock difference that stops writes: tokens and retries would be wrong by as much. */
export const CLOCK_REFUSE_MS = 60_000

/** The comparison of the clocks of a node and its database. */
export interface ClockReading {
  /** How far the database is ahead, at least. */
  readonly differenceMs: number
  /** The clock with which fewer nodes agree; undefined: as many agree with both, or both agree. */
  readonly wrong: 'node' | 'database' | undefined
  /** Other nodes that agree with the right one. */
  readonly witnesses: number
}

export const NO_DIFFERENCE: ClockReading = { differenceMs: 0, wrong: undefined, witnesses: 0 }

const clocksSql = (now: Sql, reports: Sql): Sql =>
  sql`CAST(json_build_array(${now}, ${reports}) AS TEXT)`

/** SQL for `readClocks`; undefined for a file, which has no clock. `node`: the name of the node. */
export function selectClocks(db: Pick<Database, 'name'>, node: string): Sql | undefined {
  const now = serverClockOf(db)
  return now && clocksSql(now, lastReportsOf(node))
}

/** Compares the clocks by the value of `selectClocks`. */
export function readClocks(
  value: Value,
  times: { readonly sentMs: number; readonly receivedMs: number },
): ClockReading {
  const [now, reports] = JSON.parse(String(value)) as [number, readonly number[] | null]
  const differenceMs = clockDifferenceOf(now, times)
  if (Math.abs(differenceMs) <= CLOCK_WARN_MS) return { ...NO_DIFFERENCE, differenceMs }
  const window = Math.abs(differenceMs) > CLOCK_REFUSE_MS ? FAR : NEAR
  const countAgreeing = (clockMs: number, otherMs: number) =>
    (reports ?? []).filter(
      (reportMs) => agrees(clockMs, reportMs, window) && !agrees(otherMs, reportMs, window),
    ).length
  const ofNode = countAgreeing(times.receivedMs, now)
  const ofDatabase = countAgreeing(now, times.receivedMs)
  if (ofNode === ofDatabase) return { ...NO_DIFFERENCE, differenceMs }
  return {
    differenceMs,
    wrong: ofNode > ofDatabase ? 'database' : 'node',
    witnesses: Math.max(ofNode, ofDatabase),
  }
}

interface ReportWindow {
  /** The age of the last report of a node that runs. */
  readonly ageMs: number
  readonly aheadMs: number
}

/** Of two clocks that differ by more than a minute, a report agrees with one at most. */
const FAR: ReportWindow = { ageMs: GONE_AFTER_MS, aheadMs: HEARTBEAT_MS }
/** Of clocks that differ by less, a report that came in time agrees with one, or with both. */
const NEAR: ReportWindow = { ageMs: SIGN_MS + CLOCK_WARN_MS, aheadMs: CLOCK_WARN_MS }

/** Whether a node that runs has the time of this clock: it has reported by its own one. */
const agrees = (clockMs: number, reportMs: number, { ageMs, aheadMs }: ReportWindow): boolean =>
  clockMs - reportMs < ageMs && reportMs - clockMs <= aheadMs

/**
 * Returns how far the clock of the database is ahead of that of the node, at least: the duration of
 * the request is deducted.
 */
function clockDifferenceOf(
  databaseNow: number,
  { sentMs, receivedMs }: { readonly sentMs: number; readonly receivedMs: number },
): number {
  const databaseMs = Math.round(databaseNow)
  if (databaseMs > receivedMs) return databaseMs - receivedMs
  return Math.min(0, databaseMs - sentMs)
}

/** Lets the clock of the database decide a step of the machine's, on PostgreSQL. */
export async function judgeStep(db: Database, clock: SteadyClock): Promise<void> {
  const now = clock.step() && serverClockOf(db)
  if (!now) return
  const sentMs = clock.now()
  const [row] = await db.arrays(sql`SELECT ${clocksSql(now, raw('NULL::json'))}`)
  clock.judge(readClocks(row![0]!, { sentMs, receivedMs: clock.now() }).differenceMs)
}

const CURE = 'for example with chrony.'

/** Returns a sentence for operators; undefined if the clocks agree. */
export function describeClocks({
  differenceMs,
  wrong,
  witnesses,
}: ClockReading): string | undefined {
  if (Math.abs(differenceMs) <= CLOCK_WARN_MS) return undefined
  const amount = `${Math.round(Math.abs(differenceMs) / 100) / 10} s`
  const others = `${witnesses} other node${witnesses === 1 ? '' : 's'}`
  if (wrong === 'database') {
    const direction = differenceMs < 0 ? 'behind' : 'ahead of'
    return (
      `The clock of the database's machine is ${amount} ${direction} those of this node and ` +
      `${others}, which agree. Synchronise that machine, ${CURE}`
    )
  }
  const direction = differenceMs < 0 ? 'ahead of' : 'behind'
  const difference = `The clock of this node is ${amount} ${direction} the database's`
  if (wrong === undefined) {
    return `${difference}, and no other node shows which is wrong. Synchronise both, ${CURE}`
  }
  const verb = witnesses === 1 ? 'agrees' : 'agree'
  return `${difference}, with which ${others} ${verb}. Synchronise this node, ${CURE}`
}

/** The clock of a node that starts is wrong, or that of the database. */
export class ClockError extends StorageWaitError {
  override readonly name = 'ClockError'
}

/**
 * Throws `ClockError` for a clock that differs by more than 60 s from that of the database,
 * unless more nodes agree with it. `node`: the name of the node that starts.
 */
export async function checkClock(
  db: Database,
  { clock, log, node }: { readonly clock: Clock; readonly log: Log; readonly node: string },
): Promise<void> {
  const now = serverClockOf(db)
  if (!now) return
  const reports = (await isInstalled(db)) ? lastReportsOf(node) : raw('NULL::json')
  const sentMs = clock.now()
  const [row] = await db.arrays(sql`SELECT ${clocksSql(now, reports)}`)
  const reading = readClocks(row![0]!, { sentMs, receivedMs: clock.now() })
  const sentence = describeClocks(reading)
  if (sentence === undefined) return
  const { differenceMs, wrong } = reading
  if (Math.abs(differenceMs) > CLOCK_REFUSE_MS && wrong !== 'database') {
    throw new ClockError(sentence)
  }
  log.warn({ clock_difference_ms: differenceMs }, sentence)
}
