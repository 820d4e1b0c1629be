/** SQL of replays: where each one stands, which node works on it, what it puts in the queue. */
import { NEXT_ROUND } from '../deliveries/delivery.ts'
import type { EventHead } from '../deliveries/log-store.ts'
import type { Scope } from '../kernel/principal.ts'
import type { Reader, Tx } from '../storage/database.ts'
import { fixed, join, raw, sql } from '../storage/sql.ts'
import type { Registration } from './registration.ts'

/** `recover` sends what failed once more, `replay` everything. */
export type ReplayKind = 'replay' | 'recover'
export type ReplayOutcome = 'finished' | 'stopped'

export interface Replay {
  readonly webhook_no: number
  readonly kind: ReplayKind
  readonly since: number
  /** JSON array of the types that its caller may read. */
  readonly types: string
  /** The last id that was passed: of an event, or of a delivery where it recovers. */
  readonly position: string
  readonly until_id: string
  readonly count: number
  readonly done: number
  readonly started_at: number
  readonly ended_at: number | null
  readonly outcome: ReplayOutcome | null
  readonly owner: string | null
  readonly beat: number
}

export interface RunningReplay extends Replay {
  readonly customer_no: number
  /** The customer's own limits, JSON. */
  readonly limits: string
}

const COLUMNS = `r.webhook_no, r.kind, r.since, r.types, r.position, r.until_id, r.count, r.done,
  r.started_at, r.ended_at, r.outcome, r.owner, r.beat`
const RUNNING_MAX = 1_000

const one = fixed(`SELECT ${COLUMNS} FROM gh_webhook_replays r WHERE r.webhook_no = ?`)
const put = fixed(
  `INSERT INTO gh_webhook_replays
     (webhook_no, kind, since, types, position, until_id, count, started_at, ended_at, outcome)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
   ON CONFLICT (webhook_no) DO UPDATE SET kind = excluded.kind, since = excluded.since,
     types = excluded.types, position = excluded.position, until_id = excluded.until_id,
     count = excluded.count, done = 0, started_at = excluded.started_at,
     ended_at = excluded.ended_at, outcome = excluded.outcome, owner = NULL, beat = 0`,
)
const allRunning = fixed(
  `SELECT ${COLUMNS}, c.no AS customer_no, c.limits
   FROM gh_webhook_replays r JOIN gh_webhooks w ON w.no = r.webhook_no
   JOIN gh_customers c ON c.no = w.scope / 2
   WHERE r.ended_at IS NULL ORDER BY r.webhook_no LIMIT ${RUNNING_MAX}`,
)
const advance = fixed(
  `UPDATE gh_webhook_replays SET position = ?, done = done + ?,
     count = CASE WHEN done + ? > count THEN done + ? ELSE count END, beat = beat + 1
   WHERE webhook_no = ?`,
)
const end = fixed(
  `UPDATE gh_webhook_replays SET ended_at = ?, outcome = ?
   WHERE webhook_no = ? AND ended_at IS NULL`,
)
const own = fixed('UPDATE gh_webhook_replays SET owner = ?, beat = beat + 1 WHERE webhook_no = ?')
const beat = fixed(
  'UPDATE gh_webhook_replays SET beat = beat + 1 WHERE owner = ? AND ended_at IS NULL',
)
const customer = fixed('SELECT no FROM gh_customers WHERE no = ?')

export const findReplay = (from: Reader, webhookNo: number) => from.get<Replay>(one([webhookNo]))
export const lockReplay = (tx: Tx, webhookNo: number) => tx.lock<Replay>(one([webhookNo]))

export type NewReplay = Pick<
  Replay,
  'webhook_no' | 'kind' | 'since' | 'types' | 'position' | 'until_id' | 'count' | 'started_at'
>

/** In place of the one before. Nothing to send: it has ended already. */
export function putReplay(tx: Tx, row: NewReplay): Promise<number> {
  const { webhook_no, kind, since, types, position, until_id, count, started_at } = row
  const ended = count === 0 ? [started_at, 'finished'] : [null, null]
  const values = [webhook_no, kind, since, types, position, until_id, count, started_at, ...ended]
  return tx.run(put(values))
}

export const runningReplays = (from: Reader) => from.all<RunningReplay>(allRunning([]))

export const advanceReplay = (tx: Tx, webhookNo: number, position: string, made: number) =>
  tx.run(advance([position, made, made, made, webhookNo]))

/** How many were running: none, or one. */
export const endReplay = (tx: Tx, webhookNo: number, now: number, outcome: ReplayOutcome) =>
  tx.run(end([now, outcome, webhookNo]))

export const ownReplay = (tx: Tx, webhookNo: number, node: string) => tx.run(own([node, webhookNo]))
export const beatReplays = (tx: Tx, node: string) => tx.run(beat([node]))
/** Claims of one customer's replays wait for each other. */
export const lockCustomerNo = (tx: Tx, no: number) => tx.lock(customer([no]))

/** Rows of one page: of the events, or of the log. */
export const PAGE = 250

const newestEvent = fixed('SELECT max(id) AS id FROM gh_events WHERE scope = ?')
const events = fixed(
  `SELECT id, type, created FROM gh_events
   WHERE scope = ? AND id > ? AND id <= ? ORDER BY id LIMIT ${PAGE}`,
)
const waiting = fixed(
  `SELECT event_id FROM gh_deliveries
   WHERE webhook_no = ? AND id > ? AND id <= ? AND state = 'pending'`,
)

export const newestEventId = async (from: Reader, scope: Scope): Promise<string | undefined> =>
  (await from.get<{ id: string | null }>(newestEvent([scope])))?.id ?? undefined

export const eventPage = (from: Reader, scope: Scope, after: string, until: string) =>
  from.all<EventHead>(events([scope, after, until]))

/** Events between two ids whose delivery waits already. */
export async function waitingEvents(
  from: Reader,
  webhookNo: number,
  after: string,
  last: string,
): Promise<ReadonlySet<string>> {
  // A delivery's id is its event's with the registration's tag behind it.
  const range = [`dlv_${after.slice(4)}`, `dlv_${last.slice(4)}~`]
  const rows = await from.arrays(waiting([webhookNo, ...range]))
  return new Set(rows.map(([id]) => id as string))
}

export interface LogHead {
  readonly no: number
  readonly id: string
  readonly event_type: string
  readonly state: string
}

export const hasFailed = (state: string): boolean => state === 'failed' || state === 'exhausted'

const newestDelivery = fixed('SELECT max(id) AS id FROM gh_deliveries WHERE webhook_no = ?')
const log = fixed(
  `SELECT no, id, event_type, state FROM gh_deliveries
   WHERE webhook_no = ? AND id > ? AND id <= ? ORDER BY id LIMIT ${PAGE}`,
)

export const newestDeliveryId = async (from: Reader, no: number): Promise<string | undefined> =>
  (await from.get<{ id: string | null }>(newestDelivery([no])))?.id ?? undefined

export const logPage = (from: Reader, webhookNo: number, after: string, until: string) =>
  from.all<LogHead>(log([webhookNo, after, until]))

/** A delivery that is sent again and again: beyond this its former attempts are purged. */
const ATTEMPTS_MAX_CHARACTERS = 1_000_000

/** SET clause: pending again, at the start of another round of attempts. */
export const RESET = `state = 'pending', attempt = ${NEXT_ROUND},
  attempts = CASE WHEN length(gh_deliveries.attempts) > ${ATTEMPTS_MAX_CHARACTERS} THEN NULL
             ELSE gh_deliveries.attempts END`

export const EVENT_IS_STORED = `EXISTS (SELECT 1 FROM gh_events
  WHERE gh_events.scope = gh_deliveries.scope AND gh_events.id = gh_deliveries.event_id)`

/** Gives how many are pending now that were not before. */
export async function queueEvents(
  tx: Tx,
  { scope, no, tag, api_version: version }: Registration,
  rows: readonly EventHead[],
  now: number,
): Promise<number> {
  if (rows.length === 0) return 0
  const values = rows.map(
    ({ id, type, created }) =>
      sql`(${`dlv_${id.slice(4)}${tag}`}, ${scope}, ${no}, ${id}, ${type}, ${version}, ${now},
          ${created * 1000})`,
  )
  return tx.run(sql`INSERT INTO gh_deliveries
    (id, scope, webhook_no, event_id, event_type, version, next_attempt_at, created_at)
    VALUES ${join(values)}
    ON CONFLICT (scope, id) DO UPDATE SET ${raw(RESET)},
      version = excluded.version, next_attempt_at = excluded.next_attempt_at
    WHERE gh_deliveries.state <> 'pending'`)
}

export async function queueFailed(tx: Tx, rows: readonly LogHead[], now: number): Promise<number> {
  if (rows.length === 0) return 0
  const nos = join(rows.map(({ no }) => sql`${no}`))
  return tx.run(sql`UPDATE gh_deliveries SET ${raw(RESET)}, next_attempt_at = ${now}
    WHERE no IN (${nos}) AND state IN ('failed', 'exhausted') AND ${raw(EVENT_IS_STORED)}`)
}

interface StoredObject {
  readonly type: string
  readonly created: number
  readonly collection: string | null
  readonly shape: string
  readonly object: string
}

const objectOf = fixed(
  'SELECT type, created, collection, shape, object FROM gh_events WHERE scope = ? AND id = ?',
)
const insertBody = fixed(
  `INSERT INTO gh_event_bodies (scope, event_id, version, body) VALUES (?, ?, ?, ?)
   ON CONFLICT (scope, event_id, version) DO NOTHING`,
)

export const eventObject = (from: Reader, scope: Scope, id: string) =>
  from.get<StoredObject>(objectOf([scope, id]))

export const saveBody = (tx: Tx, scope: Scope, id: string, version: string, body: string) =>
  tx.run(insertBody([scope, id, version, body]))
