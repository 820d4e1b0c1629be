/** SQL of `attention.ts`: the present state, from the engine's database and from the series. */
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'

/** Rows of each kind of item. */
export const ITEMS_MAX = 20

export interface RefusedCaller {
  readonly caller: string
  readonly customer: string
  readonly mode: string
  readonly refused: number
}

/** The keys and clients with more than `atLeast` responses 401 and 403 in a range of steps. */
export async function listRefusedCallers(
  monitoring: Reader,
  { stepS, fromS, atLeast }: Record<'stepS' | 'fromS' | 'atLeast', number>,
): Promise<RefusedCaller[]> {
  const rows = await monitoring.all(sql`SELECT caller, customer, mode,
      CAST(sum(refused) AS BIGINT) AS refused FROM gh_monitoring_series
    WHERE step = ${stepS} AND at >= ${fromS} AND caller <> ''
    GROUP BY caller, customer, mode HAVING sum(refused) > ${atLeast}
    ORDER BY sum(refused) DESC LIMIT ${ITEMS_MAX}`)
  return rows.map((row) => ({ ...(row as unknown as RefusedCaller), refused: Number(row.refused) }))
}

export async function countServerErrors(
  monitoring: Reader,
  { stepS, fromS }: Record<'stepS' | 'fromS', number>,
): Promise<{ readonly failed: number; readonly total: number }> {
  const row = await monitoring.get(sql`SELECT CAST(sum(s5) AS BIGINT) AS failed,
      CAST(sum(s2 + s3 + s4 + s5) AS BIGINT) AS total
    FROM gh_monitoring_series WHERE step = ${stepS} AND at >= ${fromS}`)
  return { failed: Number(row?.failed ?? 0), total: Number(row?.total ?? 0) }
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
