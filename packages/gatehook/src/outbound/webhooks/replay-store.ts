/** SQL of replays: their progress, and the node that runs each. */
import type { Scope } from '../../kernel/principal.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { prepareStatement, prepareUpsert, sql } from '../../platform/storage/sql.ts'

/** `recover` resends failed and exhausted deliveries, `replay` every event. */
export type ReplayKind = 'replay' | 'recover'
type ReplayOutcome = 'finished' | 'stopped'

/** The columns by which a statement finds a replay. */
interface ReplayPlace {
  readonly scope: Scope
  readonly webhook_no: number
}

interface Replay extends ReplayPlace {
  readonly kind: ReplayKind
  readonly since: number
  /** JSON array of the event types to send: its caller may read them. */
  readonly types: string
  /** The last id that it processed: of an event, or of a delivery if it recovers. */
  readonly position: string
  readonly until_id: string
  readonly count: number
  readonly done: number
  readonly started_at: number
  readonly ended_at: number | null
  readonly outcome: ReplayOutcome | null
  readonly owner: string | null
  /** The heartbeat counter of its owner. */
  readonly heartbeat: number
}

export interface RunningReplay extends Replay {
  readonly customer_no: number
  /** The customer's own limits, JSON. */
  readonly limits: string
}

const COLUMNS = `r.scope, r.webhook_no, r.kind, r.since, r.types, r.position, r.until_id, r.count,
  r.done, r.started_at, r.ended_at, r.outcome, r.owner, r.heartbeat`
const RUNNING_MAX = 1_000

const byWebhook = prepareStatement(
  `SELECT ${COLUMNS} FROM gh_webhook_replays r WHERE r.scope = ? AND r.webhook_no = ?`,
)
const upsert = prepareUpsert(
  `INSERT INTO gh_webhook_replays
     (scope, webhook_no, kind, since, types, position, until_id, count, started_at, ended_at,
      outcome)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
   ON CONFLICT (scope, webhook_no) DO UPDATE SET kind = excluded.kind, since = excluded.since,
     types = excluded.types, position = excluded.position, until_id = excluded.until_id,
     count = excluded.count, done = 0, started_at = excluded.started_at,
     ended_at = excluded.ended_at, outcome = excluded.outcome, owner = NULL, heartbeat = 0`,
)
const allRunning = prepareStatement(
  `SELECT ${COLUMNS}, c.no AS customer_no, c.limits
   FROM gh_webhook_replays r JOIN gh_customers c ON c.no = r.scope / 2
   WHERE r.ended_at IS NULL ORDER BY r.webhook_no LIMIT ${RUNNING_MAX}`,
)
const advance = prepareStatement(
  `UPDATE gh_webhook_replays SET position = ?, done = done + ?,
     count = CASE WHEN done + ? > count THEN done + ? ELSE count END, heartbeat = heartbeat + 1
   WHERE scope = ? AND webhook_no = ?`,
)
const end = prepareStatement(
  `UPDATE gh_webhook_replays SET ended_at = ?, outcome = ?
   WHERE scope = ? AND webhook_no = ? AND ended_at IS NULL`,
)
const setOwner = prepareStatement(
  `UPDATE gh_webhook_replays SET owner = ?, heartbeat = heartbeat + 1
   WHERE scope = ? AND webhook_no = ?`,
)
const incrementBeats = prepareStatement(
  'UPDATE gh_webhook_replays SET heartbeat = heartbeat + 1 WHERE owner = ? AND ended_at IS NULL',
)
const customer = prepareStatement('SELECT no FROM gh_customers WHERE no = ?')

const placeOf = ({ scope, webhook_no }: ReplayPlace) => [scope, webhook_no]

export const findReplay = (from: Reader, place: ReplayPlace) =>
  from.get<Replay>(byWebhook(placeOf(place)))
export const lockReplay = (tx: Tx, place: ReplayPlace) => tx.lock<Replay>(byWebhook(placeOf(place)))

export type NewReplay = Pick<
  Replay,
  | 'scope'
  | 'webhook_no'
  | 'kind'
  | 'since'
  | 'types'
  | 'position'
  | 'until_id'
  | 'count'
  | 'started_at'
>

/** Records a replay in place of the former one. A replay with nothing to send has finished. */
export function saveReplay(tx: Tx, row: NewReplay): Promise<number> {
  const { scope, webhook_no, kind, since, types, position, until_id, count, started_at } = row
  const endColumns = count === 0 ? [started_at, 'finished'] : [null, null]
  const values = [
    scope,
    webhook_no,
    kind,
    since,
    types,
    position,
    until_id,
    count,
    started_at,
    ...endColumns,
  ]
  return tx.run(upsert(values))
}

export const readRunningReplays = (from: Reader) => from.all<RunningReplay>(allRunning([]))

/** SQL that says whether any replay runs. */
export const selectIsRunning = sql`EXISTS (SELECT 1 FROM gh_webhook_replays
  WHERE ended_at IS NULL)`

export const advanceReplay = (tx: Tx, place: ReplayPlace, position: string, queued: number) =>
  tx.run(advance([position, queued, queued, queued, ...placeOf(place)]))

/** Ends the replay of a registration. Returns 1 if it was running, otherwise 0. */
export const endReplay = (tx: Tx, place: ReplayPlace, now: number, outcome: ReplayOutcome) =>
  tx.run(end([now, outcome, ...placeOf(place)]))

export const takeReplay = (tx: Tx, place: ReplayPlace, node: string) =>
  tx.run(setOwner([node, ...placeOf(place)]))
/** Increments the counters of the replays that a node runs. */
export const sendHeartbeat = (tx: Tx, node: string) => tx.run(incrementBeats([node]))
/** Locks a customer, so that one node at a time claims its replays. */
export const lockCustomerNo = (tx: Tx, no: number) => tx.lock(customer([no]))
