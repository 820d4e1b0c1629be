/** SQL of replays and their progress. */
import { customerOfScope } from '../../identity/access/customer-reader.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { prepareStatement, prepareUpsert } from '../../platform/storage/sql.ts'

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
}

export interface RunningReplay extends Replay {
  /** The customer's own limits, JSON. */
  readonly limits: string
}

const COLUMNS = `r.scope, r.webhook_no, r.kind, r.since, r.types, r.position, r.until_id, r.count,
  r.done, r.started_at, r.ended_at, r.outcome`

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
     ended_at = excluded.ended_at, outcome = excluded.outcome, batch_at = 0`,
)
const nextOfCustomer = prepareStatement(
  `SELECT ${COLUMNS}, c.limits
   FROM gh_webhook_replays r JOIN ${customerOfScope('r.scope')}
   WHERE r.ended_at IS NULL AND r.scope IN (?, ?) ORDER BY r.batch_at, r.webhook_no LIMIT 1`,
)
const advance = prepareStatement(
  `UPDATE gh_webhook_replays SET position = ?, done = done + ?,
     count = CASE WHEN done + ? > count THEN done + ? ELSE count END, batch_at = ?
   WHERE scope = ? AND webhook_no = ?`,
)
const end = prepareStatement(
  `UPDATE gh_webhook_replays SET ended_at = ?, outcome = ?
   WHERE scope = ? AND webhook_no = ? AND ended_at IS NULL`,
)
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

/** Returns the running replay of a customer, of either mode, that has waited longest. */
export const findNextReplay = (from: Reader, scope: Scope) => {
  const liveScope = scope | 1
  return from.get<RunningReplay>(nextOfCustomer([liveScope - 1, liveScope]))
}

/** Stores the progress of a replay after a batch. */
export const advanceReplay = (
  tx: Tx,
  place: ReplayPlace,
  { position, count, now }: { readonly position: string; readonly count: number; now: number },
) => tx.run(advance([position, count, count, count, now, ...placeOf(place)]))

/** Ends the replay of a registration. Returns 1 if it was running, otherwise 0. */
export const endReplay = (tx: Tx, place: ReplayPlace, now: number, outcome: ReplayOutcome) =>
  tx.run(end([now, outcome, ...placeOf(place)]))
