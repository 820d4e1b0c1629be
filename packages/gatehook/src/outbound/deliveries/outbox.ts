/**
 * The outbox: inserts the deliveries of an event in the event's own transaction (§9.12), with the
 * bodies of other versions. One statement finds the registrations by topic; where a scope has no
 * registration, it is the whole cost.
 */
import {
  EVENT_MAX_BYTES,
  envelope,
  type RenderObject,
  type StoredEvent,
} from '../../history/events/event.ts'
import { type Coverage, isCovered, makerAsReader } from '../../history/events/event-access.ts'
import { patternsOfType, withoutCovered } from '../../history/events/event-pattern.ts'
import type { EarlySink } from '../../history/events/store.ts'
import { randomBase62 } from '../../kernel/base62.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Random } from '../../kernel/random.ts'
import { budgetOf } from '../../platform/storage/change-budget.ts'
import type { Statement, Tx } from '../../platform/storage/database.ts'
import {
  createStatementCache,
  type PreparedStatement,
  prepareStatement,
  sql,
} from '../../platform/storage/sql.ts'
import { SMALL_BYTES } from './due-rows.ts'
import type { CommittedDelivery, WakeDeliveries } from './wake-up.ts'

const TAG_LENGTH = 8

/** Generates a tag, unique among the registrations of a scope: part of its deliveries' ids. */
export const newTag = (random: Random): string => randomBase62(random, TAG_LENGTH)

/** The id of a delivery: the event's id, followed by the registration's tag. */
export const deliveryIdOf = (eventId: string, tag: string): string =>
  `dlv_${eventId.slice(4)}${tag}`

interface Topics {
  readonly scope: Scope
  readonly no: number
  /** Types and patterns of the registration; empty when it is deleted. */
  readonly events: readonly string[]
}

const insertTopic = prepareStatement(`INSERT INTO gh_webhook_topics
    (scope, topic, webhook_no, tag, version, scopes, backlog)
  SELECT scope, CAST(? AS TEXT), no, tag, api_version, scopes, backlog FROM gh_webhooks
  WHERE scope = ? AND no = ?`)

/**
 * Replaces the topics of a registration by those of its row, always in the transaction that changes
 * it. An inactive registration keeps its topics: its deliveries wait (§9.12).
 */
export async function saveTopics(tx: Tx, { scope, no, events }: Topics): Promise<void> {
  await tx.run(sql`DELETE FROM gh_webhook_topics WHERE scope = ${scope} AND webhook_no = ${no}`)
  for (const topic of withoutCovered(events)) await tx.run(insertTopic([topic, scope, no]))
}

/** Statements by the number of patterns: the text has as many `?`. */
const receiversOf = new Map<number, PreparedStatement>()

function selectReceivers(patterns: number): PreparedStatement {
  let statement = receiversOf.get(patterns)
  if (!statement) receiversOf.set(patterns, (statement = prepareReceivers(patterns)))
  return statement
}

/** A join would let PostgreSQL read all registrations of a scope. */
const ofRegistration = (column: 'revision' | 'subject') =>
  `(SELECT ${column} FROM gh_webhooks w WHERE w.scope = gh_webhook_topics.scope
    AND w.no = gh_webhook_topics.webhook_no)`

/** SQLite seeks each topic: for `IN` it fills a table first, at four times the cost. */
function prepareReceivers(patterns: number): PreparedStatement {
  const select = `SELECT webhook_no, tag, version, backlog, ${ofRegistration('revision')}, scopes,
    ${ofRegistration('subject')} FROM gh_webhook_topics WHERE scope = `
  const topics = Array.from({ length: patterns }, () => '?').join(', ')
  const seeks = Array.from({ length: patterns }, (_, at) => `${select}?1 AND topic = ?${at + 2}`)
  return prepareStatement(`${select}? AND topic IN (${topics})`, seeks.join(' UNION ALL '))
}

/** The engine takes a delivery without a read if it knows the revision of the registration. */
type Receiver = readonly [
  webhookNo: number,
  tag: string,
  version: string,
  backlog: number,
  revision: number,
  scopes: string,
  subject: string | null,
]

/** A delivery to be inserted. */
export interface NewDelivery {
  readonly id: string
  readonly scope: Scope
  readonly webhookNo: number
  readonly eventId: string
  readonly type: string
  readonly version: string
  readonly dueAt: number
  readonly createdAt: number
}

/** Statements by the number of rows: an event has at most 50 receivers, a backlog `FILL_ROWS`. */
const inserts = createStatementCache()
const ROW = '(?, ?, ?, ?, ?, ?, ?, ?)'

/** The statement that inserts pending deliveries. */
export const insertDeliveries = (deliveries: readonly NewDelivery[]): Statement =>
  inserts(
    String(deliveries.length),
    () => `INSERT INTO gh_deliveries
      (id, scope, webhook_no, event_id, event_type, version, next_attempt_at, created_at)
      VALUES ${deliveries.map(() => ROW).join(', ')}`,
  )(
    deliveries.flatMap((row) => [
      ...[row.id, row.scope, row.webhookNo, row.eventId, row.type, row.version],
      ...[row.dueAt, row.createdAt],
    ]),
  )

export interface BodyRenderer {
  readonly render: RenderObject
  /** The version served for a pinned one: its own until sunset, then its successor. */
  readonly effective: (version: string) => string
}

interface OutboxDeps extends BodyRenderer {
  readonly clock: Clock
  /**
   * Returns how far the clock is ahead of that of the database, in milliseconds: a delivery is due
   * now, by the clock of whichever node sends it. Default: 0.
   */
  readonly leadMs?: () => number
  /** Returns the scopes that cover a type; undefined: no scope is required. */
  readonly coveredBy: (type: string, collection?: string) => Coverage | undefined
  /** Called after the commit with its deliveries, or the registrations that have to be read. */
  readonly wake: WakeDeliveries
}

/**
 * Creates the sink that inserts deliveries, before the object of the event exists. With the object,
 * it stores the bodies of other versions. It throws `payload_too_large` for a body beyond 256 KiB,
 * which rejects the whole change, and `change_too_large` beyond the budget of the change. The
 * delivery of a registration with a backlog waits in the event; further ones get rows.
 */
export function createOutbox(deps: OutboxDeps): EarlySink {
  const { clock, leadMs = () => 0, coveredBy, wake, ...renderer } = deps
  return async (tx, { scope, id, type, collection }) => {
    const patterns = patternsOfType(type)
    const cells = await tx.arrays(selectReceivers(patterns.length)([scope, ...patterns]))
    if (cells.length === 0) return undefined
    const coverage = coveredBy(type, collection)
    const receivers = (cells as unknown as readonly Receiver[]).filter(
      ([, , , , , scopes, subject]) =>
        coverage === undefined || isCovered(coverage, makerAsReader({ scopes, subject })),
    )
    if (receivers.length === 0) return undefined
    budgetOf(tx).charge({ deliveries: receivers.length })
    const now = clock.now()
    const waiter = receivers.find(([, , , backlog]) => backlog === 1)
    const rows = receivers
      .filter((receiver) => receiver !== waiter)
      .map(([webhookNo, tag, version, , revision]) => {
        const event = { eventId: id, type, dueAt: now - leadMs(), createdAt: now }
        return { id: deliveryIdOf(id, tag), scope, webhookNo, version, revision, ...event }
      })
    return {
      waiting: waiter && {
        waitsFor: waiter[0],
        id: deliveryIdOf(id, waiter[1]),
        version: waiter[2],
      },
      async sink(_, event, trace) {
        const ownBody = requireSize(envelope(event, event.object))
        if (rows.length > 0) tx.runLater(insertDeliveries(rows))
        const bodies = new Map<string, string>()
        for (const version of new Set(receivers.map((receiver) => receiver[2]))) {
          const body = renderBody(renderer, event, version)
          bodies.set(version, body ?? ownBody)
          if (body === undefined) continue
          budgetOf(tx).charge({ bytes: Buffer.byteLength(requireSize(body)) })
          storeBody(tx, event, version, body)
        }
        tx.afterCommit(() => {
          const committed = rows.flatMap((row) =>
            committedDelivery(row, bodies.get(row.version)!, trace),
          )
          const takenNos = new Set(committed.map(({ webhookNo }) => webhookNo))
          const nos = receivers.map(([webhookNo]) => webhookNo)
          wake(
            nos.filter((no) => !takenNos.has(no)),
            [],
            committed,
          )
        })
      },
    }
  }
}

/** Returns the delivery for the engine of this node; none if its body is large. */
function committedDelivery(
  { webhookNo, revision, dueAt, ...row }: NewDelivery & { readonly revision: number },
  body: string,
  trace: string | undefined,
): CommittedDelivery[] {
  if (body.length > SMALL_BYTES) return []
  const { id, eventId, type: eventType, createdAt } = row
  return [
    {
      webhookNo,
      revision,
      dueAt,
      due: { id, eventId, eventType, attempt: 0, createdAt, body, trace },
    },
  ]
}

function requireSize(body: string): string {
  // UTF-8 takes at most three bytes per UTF-16 unit: most bodies need no count.
  if (body.length * 3 > EVENT_MAX_BYTES && Buffer.byteLength(body) > EVENT_MAX_BYTES) {
    throw new Failure('payload_too_large', 'The event of this change would exceed 256 KiB.')
  }
  return body
}

type EventObject = Pick<StoredEvent, 'scope' | 'id' | 'type' | 'created' | 'shape' | 'object'> & {
  readonly collection: string | null | undefined
}

/** Renders an event for registrations pinned to `version`; undefined: they get the stored shape. */
export function renderBody(
  { render, effective }: BodyRenderer,
  event: EventObject,
  version: string,
): string | undefined {
  const servedVersion = effective(version)
  if (servedVersion === event.shape) return undefined
  const text = render(event, servedVersion)
  return text === event.object ? undefined : envelope(event, text)
}

const insertBody = prepareStatement(
  `INSERT INTO gh_event_bodies (scope, event_id, version, body) VALUES (?, ?, ?, ?)
   ON CONFLICT (scope, event_id, version) DO NOTHING`,
)

/** Stores the body of an event for one version, unless it is stored. */
export const storeBody = (
  tx: Tx,
  { scope, id }: Pick<StoredEvent, 'scope' | 'id'>,
  version: string,
  body: string,
): void => tx.runLater(insertBody([scope, id, version, body]))
