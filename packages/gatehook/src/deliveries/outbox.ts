/**
 * Deliveries are made in the transaction of their event, or not at all (§9.12). One statement finds
 * the registrations and inserts a row for each: where a scope has none, that is all it costs.
 */
import { EVENT_MAX_BYTES, envelope, type RenderObject, type StoredEvent } from '../events/event.ts'
import type { Sink } from '../events/store.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import { base62, type Random } from '../kernel/random.ts'
import { fixed, type Prepared } from '../storage/sql.ts'
import { topicsOf } from './topics.ts'

export const TAG_LENGTH = 8

/** Part of the ids of its deliveries, unique among the registrations of a scope. */
export const newTag = (random: Random): string => base62(random, TAG_LENGTH)

export interface OutboxDeps {
  readonly clock: Clock
  readonly render: RenderObject
  /** The version whose shape a pinned one gets now: its own until sunset, then the successor's. */
  readonly effective: (version: string) => string
  /** Scopes each of which lets a registration receive the type; undefined: none is required. */
  readonly coveredBy: (type: string, collection?: string) => readonly string[] | undefined
  /** After the commit: registrations, by number, that have something new. */
  readonly wake: (webhookNos: readonly number[]) => void
}

/** By the numbers of topics and scopes of the type: the text of a statement has as many `?`. */
const inserts = new Map<string, Prepared>()

/**
 * A scope is found in the JSON array by its quoted name: taken out, the text is another one. `LIKE`
 * would read the underscore of a scope as a wildcard.
 */
const HOLDS_ONE = "replace(scopes, ?, '') <> scopes"

function insertFor(topics: number, scopes: number): Prepared {
  const key = `${topics} ${scopes}`
  let insert = inserts.get(key)
  if (!insert) {
    const marks = Array.from({ length: topics }, () => '?').join(', ')
    const covered = Array.from({ length: scopes }, () => HOLDS_ONE).join(' OR ')
    insert = fixed(`INSERT INTO gh_deliveries
      (id, scope, webhook_no, event_id, event_type, version, next_attempt_at, created_at)
      SELECT ? || tag, scope, webhook_no, ?, ?, version, CAST(? AS BIGINT), CAST(? AS BIGINT)
      FROM gh_webhook_topics WHERE scope = ? AND topic IN (${marks})
      ${scopes > 0 ? `AND (scopes IS NULL OR ${covered})` : ''}
      RETURNING webhook_no, version`)
    inserts.set(key, insert)
  }
  return insert
}

const insertBody = fixed(
  'INSERT INTO gh_event_bodies (scope, event_id, version, body) VALUES (?, ?, ?, ?)',
)

/** Throws `payload_too_large` when a body would exceed 256 KiB: the change is refused whole. */
export function createOutbox({ clock, render, effective, coveredBy, wake }: OutboxDeps): Sink {
  return async (tx, event) => {
    const { scope, id, type } = event
    const now = clock.now()
    // `evt_` and the rest: a delivery's id is its event's with the registration's tag behind it.
    const prefix = `dlv_${id.slice(4)}`
    const topics = topicsOf(type)
    const scopes = (coveredBy(type, event.collection) ?? []).map((name) => `"${name}"`)
    const insert = insertFor(topics.length, scopes.length)
    const values = [prefix, id, type, now, now, scope, ...topics, ...scopes]
    const made = await tx.arrays(insert(values))
    if (made.length === 0) return
    const nos = made.map((row) => row[0] as number)
    const versions = new Set(made.map((row) => row[1] as string))
    bounded(event, event.object)
    for (const version of versions) {
      const wanted = effective(version)
      if (wanted === event.shape || event.collection === undefined) continue
      const object = render(event.collection, event.object, event.shape, wanted)
      await tx.run(insertBody([scope, id, version, bounded(event, object)]))
    }
    tx.afterCommit(() => wake(nos))
  }
}

/** The body around an object, or the refusal of one that is too long. */
function bounded(event: StoredEvent, object: string): string {
  const body = envelope(event, object)
  // UTF-8 takes at most three bytes a UTF-16 unit: most bodies need no counting.
  if (body.length * 3 > EVENT_MAX_BYTES && Buffer.byteLength(body) > EVENT_MAX_BYTES) {
    throw new Failure('payload_too_large', 'The event of this change would exceed 256 KiB.')
  }
  return body
}
