/**
 * SQL of due work: which endpoints have deliveries that became due in a span of time, and which
 * have pending deliveries at all. `due-scan.ts` decides when each is read; the rows themselves are
 * read by `engine-store.ts`.
 */
import { customerOfScope } from '../../identity/access/customer-reader.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Database, Value } from '../../platform/storage/database.ts'
import { leastOfKeys } from '../../platform/storage/key-walk.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import type { DuePage, EndpointSlice, EngineStore, PendingEndpoint } from './ports.ts'
import { IS_PENDING, OWN, TIME } from './tables.ts'

/** Deliveries that one read of a span passes. */
const PAGE_DELIVERIES = 2_000

/** The pending deliveries by the number of their registration. */
export const PENDING_OF_ENDPOINTS = { table: 'gh_deliveries', where: IS_PENDING, key: OWN }

/** Whether a registration may send: columns of `gh_webhooks w` and of the customer `c`. */
export const SENDS = `CASE WHEN w.active = 1 AND w.deleted_at IS NULL AND c.suspended = 0
  THEN w.scope END`
const JOIN_REGISTRATION = `LEFT JOIN gh_webhooks w ON w.no = e.no
  LEFT JOIN ${customerOfScope('w.scope')}`

/**
 * Reads the index by time only where deliveries became due, beside the entries of those that were
 * delivered since the last vacuum. The last row of the result has the time after the span.
 */
const dueEndpoints = prepareStatement(`SELECT e.no, ${SENDS}, e.first_at, e.last_at, e.deliveries
  FROM (SELECT webhook_no AS no, MIN(next_attempt_at) AS first_at, MAX(next_attempt_at) AS last_at,
      COUNT(*) AS deliveries
    FROM (SELECT webhook_no, next_attempt_at FROM gh_deliveries
      WHERE ${IS_PENDING} AND ${TIME} > ? AND ${TIME} <= ?
      ORDER BY ${TIME} LIMIT ${PAGE_DELIVERIES}) AS due
    GROUP BY webhook_no) AS e ${JOIN_REGISTRATION}
  UNION ALL SELECT 0, NULL, (SELECT MIN(${TIME}) FROM gh_deliveries
    WHERE ${IS_PENDING} AND ${TIME} > ?), NULL, 0`)

const endpointsAfter = (db: Database) =>
  prepareStatement(`SELECT e.no, ${SENDS}, e.least
    FROM ${leastOfKeys(db, PENDING_OF_ENDPOINTS, 'next_attempt_at')} AS e
    ${JOIN_REGISTRATION} ORDER BY e.no`)

/** A scope that is null marks an endpoint that does not send. */
type EndpointCells = readonly [no: number, scope: Scope | null, dueAt: number]
type DueCells = readonly [...EndpointCells, lastAt: number, deliveries: number]

export function dueStore(db: Database): Pick<EngineStore, 'readDuePage' | 'readEndpointSlice'> {
  const endpoints = endpointsAfter(db)
  return {
    async readDuePage(after, until) {
      return duePageOf(await db.arrays(dueEndpoints([after, until, until])), { after, until })
    },
    async readEndpointSlice(after, limit): Promise<EndpointSlice> {
      const rows = (await db.arrays(endpoints([after, limit]))) as unknown as EndpointCells[]
      const next = rows.length === limit ? rows.at(-1)![0] : undefined
      return { endpoints: sendingEndpoints(rows), next }
    },
  }
}

function duePageOf(
  rows: readonly (readonly Value[])[],
  { after, until }: { readonly after: number; readonly until: number },
): DuePage {
  const cells = rows as unknown as DueCells[]
  const due = cells.filter(([no]) => no !== 0)
  const nextDueAt = cells.find(([no]) => no === 0)?.[2] ?? undefined
  const endpoints = sendingEndpoints(due)
  const count = due.reduce((sum, [, , , , deliveries]) => sum + deliveries, 0)
  if (count < PAGE_DELIVERIES) return { endpoints, readUntil: until, isComplete: true, nextDueAt }
  // Others of the last instant may be unread.
  const readUntil = Math.max(after, ...due.map(([, , , lastAt]) => lastAt - 1))
  return { endpoints, readUntil, isComplete: false, nextDueAt }
}

const sendingEndpoints = (
  rows: readonly (EndpointCells | DueCells)[],
): readonly PendingEndpoint[] =>
  rows.flatMap(([no, scope, dueAt]) => (scope === null ? [] : [{ no, scope, dueAt }]))
