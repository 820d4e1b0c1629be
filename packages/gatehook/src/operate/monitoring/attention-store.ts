/** SQL of `attention.ts`: the present state, from the engine's database and from the series. */
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { raw, sql } from '../../platform/storage/sql.ts'
import { instantOf, positionAt } from './position.ts'
import { SHORTEST_STEP_S } from './steps.ts'

/** The starts of steps, in epoch seconds. A node whose clock was ahead has stored later ones. */
interface StepRange {
  readonly stepS: number
  readonly fromS: number
  readonly toS: number
}

/** Returns the steps of a period that ends now. */
export const stepsOf = (now: number, periodMs: number): StepRange => ({
  stepS: SHORTEST_STEP_S,
  fromS: Math.floor((now - periodMs) / 1000),
  toS: Math.ceil((now + AHEAD_MS) / 1000),
})

/** The clocks of nodes differ by less. */
export const AHEAD_MS = 1_000

/** Rows of each kind of item. */
export const ITEMS_MAX = 20

interface CountedCaller {
  readonly caller: string
  readonly customer: string
  readonly mode: string
  readonly count: number
  /** The start of the first step with a counted response, in epoch seconds. */
  readonly firstS: number
  readonly lastS: number
}

/**
 * Returns the keys and clients with more than `above` responses of a kind in a range of steps:
 * `refused` are 401 and 403, `limited` are 429.
 */
export async function listCallersBy(
  kind: 'refused' | 'limited',
  monitoring: Reader,
  { stepS, fromS, toS, above }: StepRange & { readonly above: number },
): Promise<CountedCaller[]> {
  const column = raw(kind)
  const rows = await monitoring.all(sql`SELECT caller, customer, mode,
      CAST(sum(${column}) AS BIGINT) AS count, min(at) AS first_s, max(at) AS last_s
    FROM gh_monitoring_series
    WHERE step = ${stepS} AND at >= ${fromS} AND at < ${toS} AND caller <> '' AND ${column} > 0
    GROUP BY caller, customer, mode HAVING sum(${column}) > ${above}
    ORDER BY sum(${column}) DESC LIMIT ${ITEMS_MAX}`)
  return rows.map(({ caller, customer, mode, count, first_s, last_s }) => ({
    caller,
    customer,
    mode,
    count: Number(count),
    firstS: Number(first_s),
    lastS: Number(last_s),
  }))
}

export async function countServerErrors(
  monitoring: Reader,
  { stepS, fromS, toS }: StepRange,
): Promise<{ readonly failed: number; readonly total: number }> {
  const row = await monitoring.get(sql`SELECT CAST(sum(s5) AS BIGINT) AS failed,
      CAST(sum(s2 + s3 + s4 + s5) AS BIGINT) AS total
    FROM gh_monitoring_series WHERE step = ${stepS} AND at >= ${fromS} AND at < ${toS}`)
  return { failed: Number(row?.failed ?? 0), total: Number(row?.total ?? 0) }
}

/** Newest server errors among which a cause is sought. */
const CAUSES_MAX = 100

/** Why the database failed a request, and when; epoch milliseconds. */
export interface ErrorCause {
  readonly cause: string
  readonly atMs: number
}

/**
 * Returns the cause of the newest server error between two instants that has one: a node whose
 * clock was ahead has recorded later ones.
 */
export async function findErrorCause(
  monitoring: Reader,
  { fromMs, toMs }: Record<'fromMs' | 'toMs', number>,
): Promise<ErrorCause | undefined> {
  const row = await monitoring.get(sql`SELECT cause, position FROM (SELECT cause, position
      FROM gh_monitoring_requests WHERE status >= 500 AND position >= ${positionAt(fromMs)}
        AND position < ${positionAt(toMs)}
      ORDER BY position DESC LIMIT ${CAUSES_MAX}) AS newest
    WHERE cause IS NOT NULL ORDER BY position DESC LIMIT 1`)
  return row && { cause: String(row.cause), atMs: instantOf(Number(row.position)) }
}

/** Returns the starts of the steps with a server error since an instant, the newest first. */
export async function listFailedSteps(
  monitoring: Reader,
  { stepS, fromS, toS }: StepRange,
): Promise<number[]> {
  const rows = await monitoring.arrays(sql`SELECT DISTINCT at FROM gh_monitoring_series
    WHERE step = ${stepS} AND at >= ${fromS} AND at < ${toS} AND s5 > 0 ORDER BY at DESC`)
  return rows.map(([at]) => Number(at))
}

/** Returns the items that an operator has put off, with the instants at which they return. */
export async function listDelays(
  db: Reader,
  operator: string,
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const rows = await db.all<{ item: string; until: number }>(sql`SELECT item, until
    FROM gh_attention_delays WHERE operator = ${operator} AND until > ${now} LIMIT 1000`)
  return new Map(rows.map(({ item, until }) => [item, until]))
}

export const setDelay = (tx: Tx, operator: string, item: string, until: number) =>
  tx.run(sql`INSERT INTO gh_attention_delays (operator, item, until)
    VALUES (${operator}, ${item}, ${until})
    ON CONFLICT (operator, item) DO UPDATE SET until = excluded.until`)

export const countDelays = async (tx: Tx, operator: string): Promise<number> =>
  Number(
    (await tx.get(sql`SELECT count(*) AS total FROM gh_attention_delays
      WHERE operator = ${operator}`))!.total,
  )

export const deleteEndedDelays = (tx: Tx, now: number) =>
  tx.run(sql`DELETE FROM gh_attention_delays WHERE until <= ${now}`)
