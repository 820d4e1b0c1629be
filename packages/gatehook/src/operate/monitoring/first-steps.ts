/** The first steps of a new installation, which the console shows until they are done. */
import type { Reader } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'

export interface FirstSteps {
  /** A request to a declared resource succeeded. */
  readonly first_call: boolean
  /** A receiver accepted a delivery, or `gatehook listen` opened the stream of events. */
  readonly first_webhook: boolean
}

const DAY_S = 86_400

export async function readFirstSteps(monitoring: Reader): Promise<FirstSteps> {
  const exists = async (statement: Parameters<Reader['get']>[0]) =>
    (await monitoring.get(statement)) !== undefined
  const first_call = await exists(sql`SELECT 1 AS one FROM gh_monitoring_series
    WHERE step = ${DAY_S} AND version <> '' AND s2 > 0 LIMIT 1`)
  const first_webhook =
    (await exists(sql`SELECT 1 AS one FROM gh_monitoring_deliveries
      WHERE step = ${DAY_S} AND delivered > 0 LIMIT 1`)) ||
    (await exists(sql`SELECT 1 AS one FROM gh_monitoring_requests
      WHERE route = '/events/stream' AND status = 200 LIMIT 1`))
  return { first_call, first_webhook }
}
