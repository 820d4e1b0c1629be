/**
 * Reads endpoints for operators and the portal: those that need attention, those of a customer, and
 * those that are pinned to a version.
 */

import { listTargets } from '../../history/audit/reader.ts'
import { countWaitingIn } from '../../history/events/waiting.ts'
import { customerOfScope } from '../../identity/access/customer-reader.ts'
import type { CreatedCredential, CreatedReading } from '../../identity/access/key-reader.ts'
import type { Mode } from '../../kernel/principal.ts'
import type { Reader, Row } from '../../platform/storage/database.ts'
import { join, prepareStatement, raw, type Sql, sql } from '../../platform/storage/sql.ts'
import { healthRank } from './outcome-summary.ts'
import type { EndpointKey } from './ports.ts'
import { IS_PENDING, OWN } from './tables.ts'

/** Rows of a list of endpoints that need attention. */
const ATTENTION_MAX = 20

interface ReportedEndpoint extends Row {
  readonly id: string
  readonly url: string
  /** 1 for live data. */
  readonly mode: number
  readonly customer: string
}

export interface FailingEndpoint extends ReportedEndpoint, EndpointKey {
  readonly first_failure_at: number | null
  readonly last_failure_at: number | null
  readonly disabled_reason: string | null
  readonly updated_at: number
}

const REPORTED = sql`SELECT w.no, w.scope, w.id, w.url, w.scope % 2 AS mode, c.id AS customer,
  w.first_failure_at, w.last_failure_at, w.disabled_reason, w.updated_at
  FROM gh_webhooks w JOIN ${raw(customerOfScope('w.scope'))}`

/** Lists the endpoints whose last attempt failed, those that fail longest first. */
export const listFailingEndpoints = (from: Reader) =>
  from.all<FailingEndpoint>(sql`${REPORTED}
    WHERE w.first_failure_at IS NOT NULL AND w.active = 1 AND w.deleted_at IS NULL
    ORDER BY w.first_failure_at LIMIT ${ATTENTION_MAX}`)

/** Lists the endpoints that the engine disabled since an instant, the latest first. */
export const listDisabledEndpoints = (from: Reader, sinceMs: number) =>
  from.all<FailingEndpoint>(sql`${REPORTED}
    WHERE w.active = 0 AND w.disabled_reason IS NOT NULL AND w.deleted_at IS NULL
      AND w.updated_at >= ${sinceMs} ORDER BY w.updated_at DESC LIMIT ${ATTENTION_MAX}`)

interface CreatedEndpoint extends Readonly<Record<'id' | 'name' | 'customer' | 'scopes', string>> {
  /** 1 for live data. */
  readonly mode: number
}

/** Lists the endpoints that an operator created for customers and that receive, newest first. */
export async function listEndpointsCreatedBy(
  from: Reader,
  operator: string,
  { limit }: CreatedReading,
): Promise<CreatedCredential[]> {
  const targets = await listTargets(from, 'webhook.create', operator, limit)
  if (targets.length === 0) return []
  const [ids, scopes] = [targets.map(({ target }) => target), targets.map(({ scope }) => scope)]
  const rows = await from.all<Row & CreatedEndpoint>(
    sql`SELECT w.id, w.url AS name, w.scope % 2 AS mode, c.id AS customer, w.scopes
      FROM gh_webhooks w JOIN ${raw(customerOfScope('w.scope'))}
      WHERE w.scope IN (${join(scopes)}) AND w.id IN (${join(ids)})
        AND w.active = 1 AND w.deleted_at IS NULL`,
  )
  const byId = new Map(rows.map((row) => [row.id, row]))
  return targets.flatMap(({ target, at }) => {
    const row = byId.get(target)
    if (!row) return []
    const { id, name, customer, scopes } = row
    return [{ id, name, customer, scopes, at, mode: Number(row.mode) === 1 ? 'live' : 'test' }]
  })
}

export interface SlowEndpoint extends ReportedEndpoint {
  readonly waiting: number
  /** When the delivery that is due first became due. */
  readonly due_at: number | null
}

/** Waiting deliveries that are counted for each slow endpoint. */
const WAITING_MAX = 1_000

/** Lists the active endpoints whose receivers are slow, with the deliveries that wait for them. */
export async function listSlowEndpoints(from: Reader): Promise<readonly SlowEndpoint[]> {
  const rows = await from.all<ReportedEndpoint & EndpointKey>(
    sql`SELECT w.no, w.scope, w.id, w.url, w.scope % 2 AS mode, c.id AS customer
      FROM gh_webhooks w JOIN ${raw(customerOfScope('w.scope'))}
      WHERE w.health = ${healthRank('slow')} AND w.active = 1 AND w.deleted_at IS NULL
      ORDER BY w.id LIMIT ${ATTENTION_MAX}`,
  )
  return Promise.all(
    rows.map(async (row) => {
      const pending = await from.get(sql`SELECT COUNT(*) AS waiting, MIN(next_attempt_at) AS due_at
        FROM (SELECT next_attempt_at FROM gh_deliveries
          WHERE ${raw(IS_PENDING)} AND scope = ${row.scope} AND ${raw(OWN)} = ${row.no}
          ORDER BY next_attempt_at, id LIMIT ${WAITING_MAX}) AS first`)
      const inEvents = await countWaitingIn(from, row, WAITING_MAX)
      const waiting = Math.min(WAITING_MAX, Number(pending?.waiting ?? 0) + inEvents.total)
      const dueAt = pending?.due_at ?? inEvents.oldest
      return { ...row, waiting, due_at: dueAt == null ? null : Number(dueAt) }
    }),
  )
}

/** A customer has at most 50 registrations in a mode (§9.1). */
const ENDPOINTS_MAX = 50

export interface OwnEndpoint extends Row {
  readonly no: number
  readonly id: string
  readonly url: string
  readonly events: string
  readonly active: number
  readonly disabled_reason: string | null
  readonly api_version: string
  readonly first_failure_at: number | null
  /** A position in `HEALTH_STATES`. */
  readonly health: number
}

/** Lists the endpoints of a customer in a mode. */
export const listEndpointsOf = (from: Reader, scope: number) =>
  from.all<OwnEndpoint>(sql`SELECT no, id, url, events, active, disabled_reason, api_version,
    first_failure_at, health FROM gh_webhooks
    WHERE scope = ${scope} AND deleted_at IS NULL ORDER BY id LIMIT ${ENDPOINTS_MAX}`)

/** The deliveries of an endpoint among which failed ones are counted, the newest. */
const EXAMINED_MAX = 1_000

const failed = prepareStatement(`SELECT COUNT(*) AS total
  FROM (SELECT state FROM gh_deliveries WHERE scope = ? AND webhook_no = ?
    ORDER BY id DESC LIMIT ${EXAMINED_MAX}) AS newest
  WHERE state IN ('failed', 'exhausted')`)

/** Counts failed and exhausted deliveries among the newest of an endpoint. */
export async function countRecentlyFailed(
  from: Reader,
  { scope, no }: EndpointKey,
): Promise<number> {
  return Number((await from.get(failed([scope, no])))!.total)
}

export interface PinnedEndpoint extends Row {
  readonly no: number
  readonly id: string
  readonly url: string
  readonly customer: string
  readonly scope: number
  readonly last_success_at: number | null
}

interface PinnedSelection {
  readonly version: string
  /** Undefined: of all customers. */
  readonly customer: string | undefined
  /** Undefined: of both modes. */
  readonly mode: Mode | undefined
  /** The number of the last registration of the previous page. */
  readonly afterNo: number
  readonly limit: number
}

/** Lists the active endpoints that are pinned to a version, in the order of their numbers. */
export function listPinnedEndpoints(
  from: Reader,
  { version, customer, mode, afterNo, limit }: PinnedSelection,
): Promise<PinnedEndpoint[]> {
  const live = mode === 'live' ? 1 : 0
  return from.all<PinnedEndpoint>(sql`SELECT w.no, w.id, w.url, w.scope, w.last_success_at,
      c.id AS customer
    FROM gh_webhooks w JOIN ${raw(customerOfScope('w.scope'))}
    WHERE w.api_version = ${version} AND w.deleted_at IS NULL AND w.active = 1
      AND w.no > ${afterNo}
      ${customer === undefined ? sql`` : sql`AND c.id = ${customer}`}
      ${mode === undefined ? sql`` : sql`AND w.scope % 2 = ${live}`}
    ORDER BY w.no LIMIT ${limit}`)
}

/** SQL of the scopes that have an active endpoint pinned to a version. */
export const selectScopesPinnedTo = (version: string): Sql =>
  sql`SELECT scope FROM gh_webhooks
    WHERE api_version = ${version} AND deleted_at IS NULL AND active = 1`
