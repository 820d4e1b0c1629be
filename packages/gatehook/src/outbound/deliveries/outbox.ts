/**
 * The outbox: inserts the deliveries of an event in the event's own transaction (§9.12), with the
 * bodies of other versions. One statement finds the registrations by topic and inserts a row for
 * each; where a scope has no registration, that statement, on SQLite a look-up, is the whole cost.
 */
import {
  EVENT_MAX_BYTES,
  envelope,
  type RenderObject,
  type StoredEvent,
} from '../../history/events/event.ts'
import { patternsOfType, withoutCovered } from '../../history/events/event-pattern.ts'
import type { EarlySink } from '../../history/events/store.ts'
import { randomBase62 } from '../../kernel/base62.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Random } from '../../kernel/random.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { type PreparedStatement, prepareStatement, sql } from '../../platform/storage/sql.ts'

const TAG_LENGTH = 8

/** Generates a tag, unique among the registrations of a scope: part of its deliveries' ids. */
export const newTag = (random: Random): string => randomBase62(random, TAG_LENGTH)

/** The id of a delivery: the event's id, followed by the registration's tag. */
export const deliveryIdOf = (eventId: string, tag: string): string =>
  `dlv_${eventId.slice(4)}${tag}`

/** Returns the tag of the registration that a delivery belongs to. */
export const tagOf = (deliveryId: string): string => deliveryId.slice(-TAG_LENGTH)

interface Topics {
  readonly scope: Scope
  readonly no: number
  readonly tag: string
  /** Types and patterns of the registration; empty when it is deleted. */
  readonly events: readonly string[]
  /** The pinned version. */
  readonly version: string
  /** JSON array of the registration's scopes (§9.14). */
  readonly scopes: string
}

/**
 * Replaces the topics of a registration, always in the transaction that changes it. An inactive
 * registration keeps its topics: its deliveries wait (§9.12).
 */
export async function saveTopics(
  tx: Tx,
  { scope, no, tag, events, version, scopes }: Topics,
): Promise<void> {
  await tx.run(sql`DELETE FROM gh_webhook_topics WHERE scope = ${scope} AND webhook_no = ${no}`)
  for (const topic of withoutCovered(events)) {
    await tx.run(sql`INSERT INTO gh_webhook_topics (scope, topic, webhook_no, tag, version, scopes)
      VALUES (${scope}, ${topic}, ${no}, ${tag}, ${version}, ${scopes})`)
  }
}

/** Statements by the numbers of patterns and of scopes: the text has as many `?`. */
const inserts = new Map<string, PreparedStatement>()

/**
 * Finds a quoted scope in the JSON array: removing it changes the text. `LIKE` would read the
 * underscore of a scope as a wildcard.
 */
const HOLDS_SCOPE = "replace(scopes, ?, '') <> scopes"

function insertFor(patterns: number, scopes: number): PreparedStatement {
  const key = `${patterns} ${scopes}`
  let insert = inserts.get(key)
  if (!insert) {
    const marks = Array.from({ length: patterns }, () => '?').join(', ')
    const scopeConditions = Array.from({ length: scopes }, () => HOLDS_SCOPE).join(' OR ')
    // Without an alias, Citus 13 sends RETURNING with the name of the table instead of the shard.
    insert = prepareStatement(`INSERT INTO gh_deliveries AS delivery
      (id, scope, webhook_no, event_id, event_type, version, next_attempt_at, created_at)
      SELECT ? || tag, scope, webhook_no, ?, ?, version, CAST(? AS BIGINT), CAST(? AS BIGINT)
      FROM gh_webhook_topics WHERE scope = ? AND topic IN (${marks})
      ${scopes > 0 ? `AND (${scopeConditions})` : ''}
      RETURNING webhook_no, version`)
    inserts.set(key, insert)
  }
  return insert
}

const anyTopic = prepareStatement('SELECT 1 FROM gh_webhook_topics WHERE scope = ? LIMIT 1')

/**
 * Whether the scope has no registration. On SQLite this look-up takes a tenth of the time of an
 * INSERT that finds no row. On PostgreSQL it would be a round trip, and the INSERT joins another.
 */
const hasNoTopics = async (tx: Tx, scope: Scope): Promise<boolean> =>
  !tx.hasRoundTrips && (await tx.arrays(anyTopic([scope]))).length === 0

const ignoreEvent = async (): Promise<void> => {}

export interface BodyRenderer {
  readonly render: RenderObject
  /** The version served for a pinned one: its own until sunset, then its successor. */
  readonly effective: (version: string) => string
}

interface OutboxDeps extends BodyRenderer {
  readonly clock: Clock
  /** Scopes each of which lets a registration receive the type; undefined: none is required. */
  readonly coveredBy: (type: string, collection?: string) => readonly string[] | undefined
  /** Called after the commit with the registrations, by number, that have a new delivery. */
  readonly wake: (webhookNos: readonly number[]) => void
}

/**
 * Creates the sink that inserts deliveries, before the object of the event exists. With the object,
 * it stores the bodies of other versions. It throws `payload_too_large` for a body beyond 256 KiB,
 * which rejects the whole change.
 */
export function createOutbox({ clock, coveredBy, wake, ...renderer }: OutboxDeps): EarlySink {
  return async (tx, { scope, id, type, collection }) => {
    if (await hasNoTopics(tx, scope)) return ignoreEvent
    const now = clock.now()
    const patterns = patternsOfType(type)
    const scopes = (coveredBy(type, collection) ?? []).map((name) => `"${name}"`)
    const insert = insertFor(patterns.length, scopes.length)
    const idPrefix = deliveryIdOf(id, '')
    const values = [idPrefix, id, type, now, now, scope, ...patterns, ...scopes]
    const deliveries = await tx.arrays(insert(values))
    return async (_, event) => {
      if (deliveries.length === 0) return
      requireSize(envelope(event, event.object))
      for (const version of new Set(deliveries.map((row) => row[1] as string))) {
        const body = renderBody(renderer, event, version)
        if (body !== undefined) storeBody(tx, event, version, requireSize(body))
      }
      const nos = deliveries.map((row) => row[0] as number)
      tx.afterCommit(() => wake(nos))
    }
  }
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
