/**
 * SQL of the engine: what is due, what came of it. One text per statement for both databases; what
 * each means for the work is `engine.ts`'s.
 */

import { envelope } from '../events/event.ts'
import type { RecordEvent } from '../events/store.ts'
import { BoundedMap } from '../kernel/bounded-map.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Scope } from '../kernel/principal.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Database, Tx, Value } from '../storage/database.ts'
import { fixed, type Sql, sql } from '../storage/sql.ts'
import type { Rate } from './bucket.ts'
import { APART_MS, FAILING_MS } from './health.ts'
import { openSecret } from './secret.ts'
import type {
  Ahead,
  DisabledReason,
  Due,
  DueRows,
  LiveSecret,
  Note,
  Registration,
  Settlement,
  WorkStore,
} from './work.ts'

export interface DeliveryStoreDeps {
  readonly db: Database
  readonly clock: Clock
  readonly vault: Vault
  /** Records `webhook.disabled`. */
  readonly record: RecordEvent
  /** Scopes each of which lets a registration receive the type; undefined: none is required. */
  readonly coveredBy: (type: string) => readonly string[] | undefined
}

/**
 * The endpoints something waits for, as `e`: from one to the next by seeks, not over the rows
 * between. A million waiting for one of them cost as much as one.
 */
export const WITH_ENDPOINTS = `WITH RECURSIVE e(no) AS (
    SELECT MIN(webhook_no) FROM gh_deliveries WHERE state = 'pending'
    UNION ALL
    SELECT (SELECT MIN(webhook_no) FROM gh_deliveries
            WHERE state = 'pending' AND webhook_no > e.no)
    FROM e WHERE e.no IS NOT NULL)`

const ahead = fixed(`${WITH_ENDPOINTS}
  SELECT e.no, w.scope / 2, (SELECT MIN(next_attempt_at) FROM gh_deliveries d
    WHERE d.state = 'pending' AND d.webhook_no = e.no)
  FROM e JOIN gh_webhooks w ON w.no = e.no JOIN gh_customers c ON c.no = w.scope / 2
  WHERE w.active = 1 AND w.deleted_at IS NULL AND c.suspended = 0`)

const looking = fixed(`SELECT w.id, w.scope, w.url, w.active, w.deleted_at, w.revision,
    w.first_failure_at, w.last_failure_at, w.last_success_at, w.parked_until, w.scopes,
    c.suspended, c.limits
  FROM gh_webhooks w JOIN gh_customers c ON c.no = w.scope / 2 WHERE w.no = ?`)

const secretsOf = fixed(`SELECT no, sealed, expires_at FROM gh_webhook_secrets
  WHERE webhook_no = ? ORDER BY no`)

/** From the index alone; the rows themselves are read for those that are not in memory yet. */
const pending = fixed(`SELECT no, next_attempt_at FROM gh_deliveries
  WHERE webhook_no = ? AND state = 'pending' ORDER BY next_attempt_at, no LIMIT ?`)

/**
 * Rows read by one statement; unused places hold 0, which is no row. Looked at once more whether
 * they are due: one that was known when the index was read may have been put off since.
 */
const ROWS = 32
/** Longer bodies are not held in windows: they are read when they are sent. */
const SMALL_BYTES = 4_096
const rowsOf = fixed(`SELECT d.no, d.id, d.event_id, d.event_type, d.attempt, d.created_at,
    d.scope, e.created, octet_length(COALESCE(b.body, e.object)),
    CASE WHEN octet_length(COALESCE(b.body, e.object)) <= ${SMALL_BYTES}
      THEN COALESCE(b.body, e.object) END,
    CASE WHEN b.body IS NULL THEN 0 ELSE 1 END
  FROM gh_deliveries d
  LEFT JOIN gh_events e ON e.scope = d.scope AND e.id = d.event_id
  LEFT JOIN gh_event_bodies b
    ON b.scope = d.scope AND b.event_id = d.event_id AND b.version = d.version
  WHERE d.state = 'pending' AND d.next_attempt_at <= ?
    AND d.no IN (${Array.from({ length: ROWS }, () => '?').join(', ')})
  ORDER BY d.next_attempt_at, d.no`)

const bodyOf = fixed(`SELECT d.event_id, d.event_type, d.scope, e.created, e.object, b.body
  FROM gh_deliveries d
  JOIN gh_events e ON e.scope = d.scope AND e.id = d.event_id
  LEFT JOIN gh_event_bodies b
    ON b.scope = d.scope AND b.event_id = d.event_id AND b.version = d.version
  WHERE d.no = ?`)

/** Results written by one statement; unused places name row 0. */
const RESULTS = 20
const RESULT = ['BIGINT', 'TEXT', 'BIGINT', 'BIGINT', 'TEXT'].map((type) => `CAST(? AS ${type})`)
const NO_RESULT = [0, 'pending', 0, null, '']
/** An empty record: there was no attempt (§9.12, expiry). */
const settling = fixed(`UPDATE gh_deliveries SET state = result.column2, attempt = result.column3,
    next_attempt_at = result.column4,
    attempts = CASE result.column5 WHEN '' THEN attempts
      ELSE COALESCE(attempts || ',', '') || result.column5 END
  FROM (VALUES ${Array.from({ length: RESULTS }, () => `(${RESULT})`)}) AS result
  WHERE no = result.column1 AND gh_deliveries.state = 'pending'`)
const noting = fixed(`UPDATE gh_webhooks SET first_failure_at = ?, last_failure_at = ?,
    last_success_at = ?, parked_until = ? WHERE no = ? AND url = ?`)

const failed = fixed(`SELECT no FROM gh_webhooks
  WHERE first_failure_at IS NOT NULL AND active = 1 AND first_failure_at <= ?
  AND last_failure_at >= first_failure_at + ? AND deleted_at IS NULL`)

export function deliveryStore(deps: DeliveryStoreDeps): WorkStore {
  const { db } = deps
  const look = registrations(deps)
  return {
    async scan(): Promise<Ahead[]> {
      const rows = (await db.arrays(ahead([]))) as [number, number, number][]
      return rows.map(([no, customer, dueAt]) => ({ no, customer, dueAt }))
    },
    look,
    due: (no, now, known, limit) => readDue(db, { no, now, known, limit }),
    async largeBody(no) {
      const row = await db.get(bodyOf([no]))
      if (!row) return undefined
      const { event_id: id, event_type: type, created, scope, object, body } = row
      return body ?? envelope({ id, type, created, scope }, object)
    },
    async settle(settlements, notes) {
      await db.write(async (tx) => {
        await Promise.all([
          ...resultsOf(settlements).map((values) => tx.run(settling(values))),
          ...notes.map((one) => noteOne(tx, one)),
        ])
      })
    },
    async disable(no, reason, url) {
      const which = url === undefined ? sql`no = ${no}` : sql`no = ${no} AND url = ${url}`
      await db.write((tx) => disable(tx, which, reason, deps))
    },
    async failing(now) {
      const rows = await db.arrays(failed([now - FAILING_MS, APART_MS]))
      return rows.map((row) => row[0] as number)
    },
  }
}

function resultsOf(settlements: readonly Settlement[]): Value[][] {
  const statements: Value[][] = []
  for (let from = 0; from < settlements.length; from += RESULTS) {
    const values: Value[] = []
    for (let at = from; at < from + RESULTS; at++) {
      const one = settlements[at]
      if (one) values.push(one.no, one.state, one.attempt, one.nextAt, one.record)
      else values.push(...NO_RESULT)
    }
    statements.push(values)
  }
  return statements
}

function noteOne(tx: Tx, { no, url, parkedUntil, ...health }: Note): Promise<number> {
  const { firstFailureAt, lastFailureAt, lastSuccessAt } = health
  return tx.run(noting([firstFailureAt, lastFailureAt, lastSuccessAt, parkedUntil, no, url]))
}

interface Wanted {
  readonly no: number
  readonly now: number
  readonly known: ReadonlySet<number>
  readonly limit: number
}

async function readDue(db: Database, { no, now, known, limit }: Wanted): Promise<DueRows> {
  // Known rows stand in front, or are gone; one more than wanted tells when the next is due.
  const most = known.size + limit + 1
  const listed = (await db.arrays(pending([no, most]))) as [number, number][]
  const fresh: number[] = []
  let nextAt: number | undefined
  for (const [row, at] of listed) {
    if (known.has(row)) continue
    if (at > now || fresh.length === limit) {
      nextAt = at
      break
    }
    fresh.push(row)
  }
  const parts: Promise<Value[][]>[] = []
  for (let from = 0; from < fresh.length; from += ROWS) {
    const numbers = fresh.slice(from, from + ROWS)
    while (numbers.length < ROWS) numbers.push(0)
    parts.push(db.arrays(rowsOf([now, ...numbers])))
  }
  const rows = (await Promise.all(parts)).flat().map(dueOf)
  return { rows, nextAt }
}

function dueOf(row: readonly Value[]): Due {
  const [no, id, eventId, eventType, attempt, createdAt, scope] = row as unknown as DueCells
  const [created, bytes, text, isWhole] = row.slice(7) as unknown as EventCells
  const due = { no, id, eventId, eventType, attempt, createdAt }
  if (created === null || bytes === null) return { ...due, body: undefined }
  if (text === null) return { ...due, body: undefined, largeBytes: bytes }
  if (isWhole === 1) return { ...due, body: text }
  return { ...due, body: envelope({ id: eventId, type: eventType, created, scope }, text) }
}

type DueCells = readonly [
  no: number,
  id: string,
  eventId: string,
  eventType: string,
  attempt: number,
  createdAt: number,
  scope: Scope,
]

type EventCells = readonly [
  created: number | null,
  bytes: number | null,
  text: string | null,
  isWhole: number,
]

/** Registrations as they stand, secrets opened once per revision. */
function registrations({ db, vault, coveredBy }: DeliveryStoreDeps): WorkStore['look'] {
  const opened = new BoundedMap<number, { revision: number; secrets: readonly LiveSecret[] }>(
    OPENED_MAX,
  )
  const secrets = async (no: number, revision: number) => {
    const kept = opened.get(no)
    if (kept?.revision === revision) return kept.secrets
    const rows = await db.arrays(secretsOf([no]))
    const fresh = rows.map(([secretNo, sealed, expiresAt]) => ({
      ...openSecret(vault, secretNo as number, sealed as Uint8Array),
      expiresAt: expiresAt as number | null,
    }))
    opened.set(no, { revision, secrets: fresh })
    return fresh
  }
  return async (no): Promise<Registration | undefined> => {
    const row = await db.get(looking([no]))
    if (!row) return undefined
    const sends = row.active === 1 && row.deleted_at === null && row.suspended === 0
    const scopes = row.scopes === null ? undefined : (JSON.parse(row.scopes) as string[])
    return {
      no,
      id: row.id,
      scope: row.scope,
      customer: Math.floor(row.scope / 2),
      url: row.url,
      sends,
      revision: row.revision,
      secrets: sends ? await secrets(no, row.revision) : [],
      rate: rateOf(row.limits),
      parkedUntil: row.parked_until,
      firstFailureAt: row.first_failure_at,
      lastFailureAt: row.last_failure_at,
      lastSuccessAt: row.last_success_at,
      covers: (type) => !scopes || (coveredBy(type)?.some((name) => scopes.includes(name)) ?? true),
    }
  }
}

/** Registrations whose secrets are kept open in memory. */
const OPENED_MAX = 10_000

/** A customer's own rate; its burst is what two of its windows allow, as the default's is. */
function rateOf(limits: string): Rate | undefined {
  if (limits === '{}') return undefined
  const own = JSON.parse(limits).delivery_rate as { limit: number; window_s: number } | undefined
  return own && { limit: own.limit, windowMs: own.window_s * 1000, burst: own.limit * 2 }
}

/** Never silently: the state, the reason and the event commit together (§9.7). */
async function disable(
  tx: Tx,
  which: Sql,
  reason: DisabledReason,
  { clock, record }: DeliveryStoreDeps,
): Promise<void> {
  const row = await tx.get(sql`UPDATE gh_webhooks SET active = 0, disabled_reason = ${reason},
    updated_at = ${clock.now()}, revision = revision + 1
    WHERE ${which} AND active = 1 AND deleted_at IS NULL RETURNING id, scope, url`)
  if (!row) return
  const { id, url, scope } = row
  const object = JSON.stringify({ id, status: 'disabled', url, disabled_reason: reason })
  const event = { type: 'webhook.disabled', collection: undefined, objectId: undefined, object }
  await record(tx, scope as Scope, event)
}
