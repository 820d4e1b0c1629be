/** The requests of a version that are usual in an hour of the week, from the last two weeks. */
import type { Clock } from '../kernel/clock.ts'
import type { Reader, Row } from '../storage/database.ts'
import { join, sql } from '../storage/sql.ts'
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
  readonly version: string
  /** 1: Monday. */
  readonly weekday: number
  readonly hour: number
}

/** Returns the starts of the last two complete steps that contain the hour, in epoch seconds. */
function stepsOfHour(
  { weekday, hour }: Omit<HourOfWeek, 'version'>,
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

interface CustomerCount extends Row {
  readonly customer: string
  readonly count: unknown
}

/** Reads the mean of the counts; a week before the first count is not part of it. */
export async function readTraffic({ db, store, clock }: TrafficDeps, window: HourOfWeek) {
  const { version, weekday, hour } = window
  const first = await store.get(
    sql`SELECT min(at) AS at FROM gh_monitoring_series WHERE step = ${STEP_S}`,
  )
  const firstS = first?.at == null ? Number.POSITIVE_INFINITY : Number(first.at)
  const steps = stepsOfHour(window, clock.now()).filter((at) => at >= firstS)
  if (steps.length === 0) return { weekday, hour, weeks: 0, expected: 0, customers: [] }
  const rows = await store.all<CustomerCount>(sql`SELECT customer,
      CAST(sum(s2 + s3 + s4 + s5) AS BIGINT) AS count FROM gh_monitoring_series
    WHERE step = ${STEP_S} AND at IN (${join(steps.map((at) => sql`${at}`))})
      AND version = ${version} GROUP BY customer`)
  const expectedOf = (count: number) =>
    Math.round((10 * count) / (steps.length * HOURS_OF_STEP)) / 10
  const counts = rows.map(({ customer, count }) => ({ customer, count: Number(count) }))
  const busiest = counts.toSorted((a, b) => b.count - a.count).slice(0, CALLERS_MAX)
  const names = await readCustomerNames(
    db,
    busiest.map(({ customer }) => customer),
  )
  return {
    weekday,
    hour,
    weeks: steps.length,
    expected: expectedOf(counts.reduce((sum, { count }) => sum + count, 0)),
    customers: busiest.map(({ customer, count }) => ({
      customer: customer || null,
      customer_name: names.get(customer) ?? null,
      expected: expectedOf(count),
    })),
  }
}

async function readCustomerNames(
  db: Reader,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const list = join(ids.map((id) => sql`${id}`))
  const rows = await db.all<Row & { id: string; name: string }>(
    sql`SELECT id, name FROM gh_customers WHERE id IN (${list})`,
  )
  return new Map(rows.map(({ id, name }) => [id, name]))
}
