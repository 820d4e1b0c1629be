/** The requests of a version that are usual in hours of the week, from the last two weeks. */
import { readCustomers } from '../../identity/access/customer-reader.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Reader, Row } from '../../platform/storage/database.ts'
import { join, sql } from '../../platform/storage/sql.ts'
import { SERIES_STEPS } from './steps.ts'
import { CALLERS_MAX } from './version-operations.ts'

const HOUR_S = 3600
const DAY_S = 24 * HOUR_S
const WEEK_S = 7 * DAY_S
/** The step whose counts are stored for two weeks. */
const STEP_S = SERIES_STEPS[2]!.seconds
const HOURS_OF_STEP = STEP_S / HOUR_S

interface TrafficDeps {
  readonly db: Reader
  readonly store: Reader
  readonly clock: Clock
}

interface HourOfWeek {
  /** 1: Monday. */
  readonly weekday: number
  readonly hour: number
}

interface HoursOfWeek extends HourOfWeek {
  readonly version: string
  /** The number of hours from `weekday` and `hour`. */
  readonly hours: number
}

/** Returns the starts of the last two complete steps that contain the hour, in epoch seconds. */
function stepsOfHour(
  { weekday, hour }: HourOfWeek,
  nowMs: number,
): readonly [latest: number, earlier: number] {
  // The epoch began on a Thursday, day 4.
  const offsetS = (((weekday - 4 + 7) % 7) * 24 + hour) * HOUR_S
  const stepOffsetS = offsetS - (offsetS % STEP_S)
  const nowS = Math.floor(nowMs / 1000)
  const weeks = Math.floor((nowS - STEP_S - stepOffsetS) / WEEK_S)
  const latest = weeks * WEEK_S + stepOffsetS
  return [latest, latest - WEEK_S]
}

const HOURS_OF_WEEK = 7 * 24

const listHours = ({ weekday, hour, hours }: HoursOfWeek): readonly HourOfWeek[] =>
  Array.from({ length: hours }, (_, n) => {
    const index = ((weekday - 1) * 24 + hour + n) % HOURS_OF_WEEK
    return { weekday: Math.floor(index / 24) + 1, hour: index % 24 }
  })

interface StepCount extends Row {
  readonly customer: string
  readonly at: number
  readonly count: unknown
}

/** Reads the mean of the counts; a week before the first count is not part of it. */
export async function readTraffic({ db, store, clock }: TrafficDeps, window: HoursOfWeek) {
  const { version, weekday, hour, hours } = window
  const first = await store.get(
    sql`SELECT min(at) AS at FROM gh_monitoring_series WHERE step = ${STEP_S}`,
  )
  const firstS = first?.at == null ? Number.POSITIVE_INFINITY : Number(first.at)
  const stepsOfHours = listHours(window).map((each) => stepsOfHour(each, clock.now()))
  const weeks = [0, 1].filter((week) => stepsOfHours.every((steps) => steps[week]! >= firstS))
  const shared = { weekday, hour, hours, weeks: weeks.length }
  if (weeks.length === 0) return { ...shared, expected: 0, customers: [] }
  const hoursByStep = countBy(weeks.flatMap((week) => stepsOfHours.map((steps) => steps[week]!)))
  const rows = await store.all<StepCount>(sql`SELECT customer, at,
      CAST(sum(s2 + s3 + s4 + s5) AS BIGINT) AS count FROM gh_monitoring_series
    WHERE step = ${STEP_S} AND at IN (${join([...hoursByStep.keys()].map((at) => sql`${at}`))})
      AND version = ${version} GROUP BY customer, at`)
  const requests = new Map<string, number>()
  for (const { customer, at, count } of rows) {
    const share = (Number(count) * hoursByStep.get(Number(at))!) / HOURS_OF_STEP
    requests.set(customer, (requests.get(customer) ?? 0) + share)
  }
  const expectedOf = (count: number) => Math.round((10 * count) / weeks.length) / 10
  const busiest = [...requests].toSorted(([, a], [, b]) => b - a).slice(0, CALLERS_MAX)
  const customers = await readCustomers(
    db,
    busiest.map(([customer]) => customer),
  )
  return {
    ...shared,
    expected: expectedOf([...requests.values()].reduce((sum, count) => sum + count, 0)),
    customers: busiest.map(([customer, count]) => ({
      customer: customer || null,
      customer_name: customers.get(customer)?.name ?? null,
      expected: expectedOf(count),
    })),
  }
}

/** Returns how often each value occurs. */
function countBy(values: readonly number[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}
