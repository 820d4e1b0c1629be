/**
 * SQL of backlogs (decision 0083). While an endpoint is behind, its new deliveries wait in their
 * events, without rows: a million of them cost what the events cost. Once it has sent its rows, the
 * engine gives the waiting ones rows, in the order of their events, until none is left.
 */
import {
  listAwaited,
  readWaitingIds,
  SELECT_WAITING,
  takeWaiting,
} from '../../history/events/waiting.ts'
import { customerOfScope } from '../../identity/access/customer-reader.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Database, Reader, Tx } from '../../platform/storage/database.ts'
import { readWalk, walkKeys } from '../../platform/storage/key-walk.ts'
import { join, prepareStatement, raw, sql } from '../../platform/storage/sql.ts'
import { PENDING_OF_ENDPOINTS, SENDS } from './due-store.ts'
import { insertDeliveries } from './outbox.ts'
import type { EndpointKey, EngineStore, PendingEndpoint } from './ports.ts'
import { IS_PENDING, OWN } from './tables.ts'

/**
 * SQL of all deliveries: rows, and those that wait in their events. Both have indexes by
 * registration and id, by scope and id, and by id, which a statement merges.
 */
export const ROWS_AND_WAITING = `(SELECT * FROM
  (SELECT id, scope, webhook_no, event_id, event_type, version, state, next_attempt_at, created_at,
    attempts, failed FROM gh_deliveries UNION ALL ${SELECT_WAITING}) AS united
  WHERE webhook_no IS NOT NULL)`

/** Deliveries that get rows in one transaction. */
const FILL_ROWS = 250
/** An endpoint is behind if it has more pending rows than this, */
const BEHIND_ROWS = 1_000
/** of which the first has been due for this time. */
const BEHIND_MS = 60_000
/** Endpoints that one check examines. */
const EXAMINED = 500

/** Sorts after every id of a delivery. */
export const AFTER_ALL = 'dlv_~'

interface IdRange {
  readonly from: string
  readonly to: string
}

interface Filled {
  readonly count: number
  /** When the first of them is due. */
  readonly dueAt: number
}

/** Gives waiting deliveries rows, in the caller's transaction. */
async function fillRange(
  tx: Tx,
  { scope, no }: EndpointKey,
  { from, to }: IdRange,
): Promise<Filled> {
  const taken = await takeWaiting(tx, { scope, no, from, to })
  const rows = taken.map(({ id, event_id: eventId, type, version, created_ms }) => {
    const at = Number(created_ms)
    return { id, scope, webhookNo: no, eventId, type, version, dueAt: at, createdAt: at }
  })
  for (let at = 0; at < rows.length; at += FILL_ROWS) {
    await tx.run(insertDeliveries(rows.slice(at, at + FILL_ROWS)))
  }
  return { count: rows.length, dueAt: Math.min(...rows.map(({ dueAt }) => dueAt)) }
}

const NONE: Filled = { count: 0, dueAt: Number.POSITIVE_INFINITY }

/** Gives the first waiting deliveries below an id rows. */
export async function fillFirst(
  db: Database,
  endpoint: EndpointKey,
  below = AFTER_ALL,
): Promise<Filled & { readonly isLast: boolean }> {
  const ids = await readWaitingIds(db, endpoint, below, FILL_ROWS)
  const isLast = ids.length < FILL_ROWS
  const [from] = ids
  if (from === undefined) return { ...NONE, isLast }
  const filled = await db.write((tx) => fillRange(tx, endpoint, { from, to: ids.at(-1)! }))
  return { ...filled, isLast }
}

/** Gives the delivery of an event a row if it waits. */
export const fillOne = (tx: Tx, endpoint: EndpointKey, id: string) =>
  fillRange(tx, endpoint, { from: id, to: id })

const setBacklog = prepareStatement(`UPDATE gh_webhooks SET backlog = ?
  WHERE scope = ? AND no = ? AND backlog <> ? AND deleted_at IS NULL`)
const setTopics = prepareStatement(
  'UPDATE gh_webhook_topics SET backlog = ? WHERE scope = ? AND webhook_no = ?',
)

/** Decides where the next deliveries of an endpoint wait. */
export const changeBacklog = (
  db: Database,
  { scope, no }: EndpointKey,
  backlog: 0 | 1,
): Promise<void> =>
  db.write(async (tx) => {
    // The row comes first: a change of the registration holds its lock, and copies its column.
    const count = await tx.run(setBacklog([backlog, scope, no, backlog]))
    if (count > 0) await tx.run(setTopics([backlog, scope, no]))
  })

const rowsOf = (columns: string) => `SELECT ${columns} FROM gh_deliveries
  WHERE ${IS_PENDING} AND scope = w.scope AND ${OWN} = w.no ORDER BY next_attempt_at`
const pendingAfter = prepareStatement(`${walkKeys(PENDING_OF_ENDPOINTS)}
  SELECT e.no, w.scope, CASE WHEN w.backlog = 0 AND w.deleted_at IS NULL
      AND (${rowsOf('next_attempt_at')} LIMIT 1) <= ?
      AND (${rowsOf('1')} LIMIT 1 OFFSET ${BEHIND_ROWS}) = 1 THEN 1 ELSE 0 END
  FROM e LEFT JOIN gh_webhooks w ON w.no = e.no WHERE e.no IS NOT NULL ORDER BY e.no`)

type ExaminedCells = readonly [no: number, scope: Scope | null, isBehind: number]

/** Reads the scopes of those registrations that send, by number. */
async function readSending(
  from: Reader,
  nos: readonly number[],
): Promise<ReadonlyMap<number, Scope | null>> {
  if (nos.length === 0) return new Map()
  const rows = await from.arrays(sql`SELECT w.no, ${raw(SENDS)} FROM gh_webhooks w
    JOIN ${raw(customerOfScope('w.scope'))} WHERE w.no IN (${join(nos)})`)
  return new Map(rows as unknown as readonly (readonly [number, Scope | null])[])
}

type BacklogStore = Pick<
  EngineStore,
  'beginBacklogs' | 'fillBacklog' | 'endBacklog' | 'readAwaitedSlice'
>

/** Where no walk runs, no backlog begins: each delivery has a row. */
export const backlogStore = (db: Database): BacklogStore => ({
  async beginBacklogs(now, after) {
    const cells = await readWalk(db, pendingAfter([after, EXAMINED, now - BEHIND_MS]))
    const examined = cells as unknown as readonly ExaminedCells[]
    for (const [no, scope, isBehind] of examined) {
      if (isBehind === 1 && scope !== null) await changeBacklog(db, { no, scope }, 1)
    }
    return examined.length === EXAMINED ? examined.at(-1)![0] : 0
  },
  fillBacklog: (endpoint) => fillFirst(db, endpoint),
  endBacklog: (endpoint) => changeBacklog(db, endpoint, 0),
  async readAwaitedSlice(after, limit) {
    const awaited = await listAwaited(db, after, limit)
    const nos = awaited.map(({ no }) => no)
    const sending = await readSending(db, nos)
    const endpoints = awaited.flatMap(({ no, since }): PendingEndpoint[] => {
      const scope = sending.get(no) ?? null
      return scope === null ? [] : [{ no, scope, dueAt: since, hasBacklog: true }]
    })
    return { endpoints, next: awaited.length === limit ? awaited.at(-1)!.no : undefined }
  },
})
