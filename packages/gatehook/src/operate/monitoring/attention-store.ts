/** SQL of `attention.ts`: the present state, from the engine's database and from the series. */
import { healthRank } from '../../outbound/deliveries/outcome-summary.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'

/** Rows of each kind of item. */
const ITEMS_MAX = 20

export interface WebhookRow {
  readonly id: string
  readonly url: string
  readonly mode: number
  readonly customer: string
  readonly first_failure_at: number | null
  readonly last_failure_at: number | null
  readonly disabled_reason: string | null
  readonly updated_at: number
}

const WEBHOOK = sql`SELECT w.id, w.url, w.scope % 2 AS mode, c.id AS customer, w.first_failure_at,
  w.last_failure_at, w.disabled_reason, w.updated_at
  FROM gh_webhooks w JOIN gh_customers c ON c.no = w.scope / 2`

/** The endpoints whose last attempt failed, those that fail longest first. */
export const listFailingWebhooks = (db: Reader) =>
  db.all<WebhookRow & Record<string, unknown>>(sql`${WEBHOOK}
    WHERE w.first_failure_at IS NOT NULL AND w.active = 1 AND w.deleted_at IS NULL
    ORDER BY w.first_failure_at LIMIT ${ITEMS_MAX}`)

/** The endpoints that the engine disabled, the latest first. */
export const listDisabledWebhooks = (db: Reader, sinceMs: number) =>
  db.all<WebhookRow & Record<string, unknown>>(sql`${WEBHOOK}
    WHERE w.active = 0 AND w.disabled_reason IS NOT NULL AND w.deleted_at IS NULL
      AND w.updated_at >= ${sinceMs} ORDER BY w.updated_at DESC LIMIT ${ITEMS_MAX}`)

export interface SlowWebhookRow extends Pick<WebhookRow, 'id' | 'url' | 'mode' | 'customer'> {
  readonly waiting: number
  /** When the delivery that is due first became due. */
  readonly due_at: number | null
}

/** Waiting deliveries that are counted for each slow endpoint. */
const WAITING_MAX = 1_000

/** The active endpoints whose receivers are slow, with the deliveries that wait for them. */
export async function listSlowWebhooks(db: Reader): Promise<readonly SlowWebhookRow[]> {
  const rows = await db.all<WebhookRow & { readonly no: number; readonly scope: number }>(
    sql`SELECT w.no, w.scope, w.id, w.url, w.scope % 2 AS mode, c.id AS customer
      FROM gh_webhooks w JOIN gh_customers c ON c.no = w.scope / 2
      WHERE w.health = ${healthRank('slow')} AND w.active = 1 AND w.deleted_at IS NULL
      ORDER BY w.id LIMIT ${ITEMS_MAX}`,
  )
  return Promise.all(
    rows.map(async (row) => {
      const queue = await db.get(sql`SELECT COUNT(*) AS waiting, MIN(next_attempt_at) AS due_at
        FROM (SELECT next_attempt_at FROM gh_delivery_queue
          WHERE scope = ${row.scope} AND webhook_no = ${row.no}
          ORDER BY next_attempt_at, id LIMIT ${WAITING_MAX}) AS first`)
      const dueAt = queue?.due_at == null ? null : Number(queue.due_at)
      return { ...row, waiting: Number(queue?.waiting ?? 0), due_at: dueAt }
    }),
  )
}

export interface ExpiringKeyRow {
  readonly id: string
  readonly name: string
  readonly hint: string
  readonly customer: string
  readonly mode: string
  readonly expires_at: number
  readonly last_used_at: number
}

/** The keys that expire in a period and were used since an instant, without temporary test keys. */
export const listExpiringKeys = (
  db: Reader,
  {
    fromMs,
    toMs,
    usedSinceMs,
    temporaryMs,
  }: Record<'fromMs' | 'toMs' | 'usedSinceMs' | 'temporaryMs', number>,
) =>
  db.all<ExpiringKeyRow & Record<string, unknown>>(sql`SELECT id, name, hint, customer, mode,
      expires_at, last_used_at FROM gh_api_keys
    WHERE expires_at IS NOT NULL AND revoked_at IS NULL AND expires_at > ${fromMs}
      AND expires_at <= ${toMs} AND last_used_at >= ${usedSinceMs}
      AND (mode = 'live' OR expires_at - created_at > ${temporaryMs})
    ORDER BY expires_at LIMIT ${ITEMS_MAX}`)

export const findKeyName = async (db: Reader, id: string): Promise<string | undefined> =>
  (await db.get(sql`SELECT name FROM gh_api_keys WHERE id = ${id}`))?.name

/** Returns the number of customers that called a version since an instant, at most 1,000. */
export async function countVersionCallers(
  db: Reader,
  version: string,
  sinceMs: number,
): Promise<{ readonly callers: number; readonly lastAt: number | null }> {
  const row = await db.get(sql`SELECT count(DISTINCT scope) AS callers, max(last_at) AS last_at
    FROM (SELECT scope, last_at FROM gh_version_usage
      WHERE version = ${version} AND last_at >= ${sinceMs} LIMIT 10000) AS recent`)
  return { callers: Number(row?.callers ?? 0), lastAt: row?.last_at ?? null }
}

export interface AuditedReuse {
  readonly id: string
  readonly at: number
  readonly target: string
  readonly actor_id: string
  readonly detail: string
}

/** The reuses of refresh tokens since an instant, the latest first. */
export const listTokenReuses = (db: Reader, sinceId: string) =>
  db.all<AuditedReuse & Record<string, unknown>>(sql`SELECT id, at, target, actor_id, detail
    FROM gh_audit WHERE action = 'token.reuse_detected' AND id >= ${sinceId}
    ORDER BY id DESC LIMIT ${ITEMS_MAX}`)

export interface FailedJobsRow {
  readonly name: string
  readonly failed: number
  readonly first_at: number
  readonly last_at: number
}

/** Failed jobs that one reading of the list counts. */
const FAILED_JOBS_MAX = 1_000

/** The names of jobs that failed since an instant, and how many of the newest failures each has. */
export const countFailedJobs = (db: Reader, sinceMs: number) =>
  db.all<FailedJobsRow & Record<string, unknown>>(sql`SELECT name, COUNT(*) AS failed,
      MIN(ended_at) AS first_at, MAX(ended_at) AS last_at
    FROM (SELECT name, ended_at FROM gh_jobs WHERE state = 'failed' AND ended_at IS NOT NULL
      AND ended_at >= ${sinceMs} ORDER BY ended_at DESC LIMIT ${FAILED_JOBS_MAX}) AS newest
    GROUP BY name ORDER BY failed DESC, name LIMIT ${ITEMS_MAX}`)

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
