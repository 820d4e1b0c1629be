/** The busiest quarter of an hour of a customer's credentials, from the series of requests. */
import type { Reader, Row } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'
import type { LogOwner } from './request-reader.ts'
import { SERIES_STEPS } from './steps.ts'

const STEP_S = SERIES_STEPS[1]!.seconds
const DAY_S = 86_400

export interface PeakUse {
  /** The most requests of one key or client in one step; 0 without requests. */
  readonly requests: number
  readonly stepS: number
}

/** Reads the peak of the last 24 hours. */
export async function readPeak(
  from: Reader,
  { customer, mode }: LogOwner,
  nowMs: number,
): Promise<PeakUse> {
  const fromS = Math.floor(nowMs / 1000) - DAY_S
  const row = await from.get<Row & { peak: unknown }>(sql`SELECT max(requests) AS peak FROM (
    SELECT sum(s2 + s3 + s4 + s5) AS requests FROM gh_monitoring_series
    WHERE step = ${STEP_S} AND at >= ${fromS} AND customer = ${customer} AND mode = ${mode}
      AND caller <> ''
    GROUP BY at, caller) AS steps`)
  return { requests: Number(row?.peak ?? 0), stepS: STEP_S }
}
