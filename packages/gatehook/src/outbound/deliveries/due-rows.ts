/**
 * SQL of due deliveries with their bodies. PostgreSQL plans these statements once, perhaps while
 * the tables are empty: LATERAL makes it look up each row by its key. The first value is the scope,
 * which each look-up names, so that Citus sends the whole statement to one server.
 */
import { eventOf, lateralEvent } from '../../history/events/by-id.ts'
import {
  createStoredObjects,
  NO_DECLARED_OBJECTS,
  type StoredObjects,
} from '../../history/events/stored-objects.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Reader, Value } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import type { DueDelivery, EngineStore } from './ports.ts'
import { OWN } from './tables.ts'

/** The engine reads longer bodies when it sends them, instead of holding them in windows. */
export const SMALL_BYTES = 4_096
const COLUMNS = `d.id, d.event_id, d.event_type, d.attempt, d.created_at,
    d.scope, e.created, octet_length(COALESCE(b.body, e.object)),
    CASE WHEN octet_length(COALESCE(b.body, e.object)) <= ${SMALL_BYTES}
      THEN COALESCE(b.body, e.object) END,
    CASE WHEN b.body IS NULL THEN 0 ELSE 1 END, e.trace, e.collection, e.shape, d.version,
    d.next_attempt_at`

/** Prepares the read of the rows that a query returns, with their bodies. */
const withBodies = (query: string, sqlite: string) => {
  const read = (rows: string, events: string, bodies: string) =>
    `SELECT ${COLUMNS} FROM (${rows}) AS d LEFT JOIN ${events} LEFT JOIN ${bodies}
     ORDER BY d.next_attempt_at, d.id`
  const isBody = 'b.event_id = d.event_id AND b.version = d.version'
  return prepareStatement(
    read(
      query,
      `${lateralEvent('$1', 'd.event_id')} AS e ON TRUE`,
      `LATERAL (SELECT * FROM gh_event_bodies b
         WHERE b.scope = $1 AND ${isBody} LIMIT 1) AS b ON TRUE`,
    ),
    read(sqlite, eventOf('d'), `gh_event_bodies b ON b.scope = d.scope AND ${isBody}`),
  )
}

/** The items of a JSON array, which is one value however many there are. */
const ITEMS = 'SELECT json_array_elements_text(CAST(? AS json))'
const SQLITE_ITEMS = 'SELECT value FROM json_each(?)'
const firstDue = (items: string) => `SELECT * FROM gh_deliveries
  WHERE scope = ? AND ${OWN} = ? AND next_attempt_at >= ? AND next_attempt_at <= ?
    AND state = 'pending' AND id NOT IN (${items})
  ORDER BY next_attempt_at, id LIMIT ?`
/**
 * A window is read from so long before its first delivery is expected: transactions commit late,
 * and clocks of nodes differ. PostgreSQL has an entry of each delivery that
 * ended since the last vacuum, which a read from the beginning would pass: 40 ms for a million.
 */
const LATE_MS = 60_000
const ofEndpoint = withBodies(firstDue(ITEMS), firstDue(SQLITE_ITEMS))

const byIds = withBodies(
  `SELECT row.* FROM json_array_elements_text(CAST($2 AS json)) AS ids(id) CROSS JOIN LATERAL
     (SELECT * FROM gh_deliveries WHERE scope = $1 AND id = ids.id LIMIT 1) AS row
   WHERE row.state = 'pending' AND row.next_attempt_at <= $3`,
  `SELECT * FROM gh_deliveries
   WHERE scope = ? AND id IN (${SQLITE_ITEMS}) AND state = 'pending' AND next_attempt_at <= ?`,
)

const nextDue = prepareStatement(`SELECT MIN(next_attempt_at) FROM gh_deliveries
  WHERE scope = ? AND ${OWN} = ? AND next_attempt_at > ?`)

type DueRows = Pick<EngineStore, 'readDueDeliveries' | 'readResentDeliveries'>

export const dueRows = (
  reads: Reader,
  objects: Pick<StoredObjects, 'bodyOf' | 'hasBody'> = createStoredObjects(NO_DECLARED_OBJECTS),
): DueRows => ({
  async readDueDeliveries({ no, scope }, { from, now }, loadedIds, limit) {
    const values = [scope, no, from - LATE_MS, now, JSON.stringify([...loadedIds]), limit]
    const [cells, [next]] = await Promise.all([
      reads.arrays(ofEndpoint(values)),
      reads.arrays(nextDue([scope, no, now])),
    ])
    const rows = cells.map((row) => dueDeliveryOf(row, objects))
    // Further rows have been due since the last one at most: `queue-age.ts` measures from there.
    const nextDueAt = (rows.length === limit ? cells.at(-1)?.at(-1) : next?.[0]) as number | null
    return { rows, nextDueAt: nextDueAt ?? undefined }
  },
  async readResentDeliveries(scope, now, ids) {
    const cells = await reads.arrays(byIds([scope, JSON.stringify(ids), now]))
    return cells.map((row) => dueDeliveryOf(row, objects))
  },
})

function dueDeliveryOf(
  row: readonly Value[],
  objects: Pick<StoredObjects, 'bodyOf' | 'hasBody'>,
): DueDelivery {
  const [id, eventId, eventType, attempt, createdAt, scope] = row as unknown as DeliveryCells
  const [created, bytes, text, isWhole, trace, collection, shape, version] = row.slice(
    6,
  ) as unknown as BodyCells
  const due = { id, eventId, eventType, attempt, createdAt, trace: trace ?? undefined }
  if (created === null || bytes === null) return { ...due, body: undefined }
  if (text === null) return { ...due, body: undefined, largeBytes: bytes }
  const event = { id: eventId, type: eventType, created, scope, collection, shape: shape!, version }
  // The body of a withdrawn version: the engine reads the object in its place.
  if (isWhole === 1 && !objects.hasBody(event))
    return { ...due, body: undefined, largeBytes: bytes }
  const body = objects.bodyOf({ ...event, object: text, body: isWhole === 1 ? text : null })
  return { ...due, body }
}

type DeliveryCells = readonly [
  id: string,
  eventId: string,
  eventType: string,
  attempt: number,
  createdAt: number,
  scope: Scope,
]

type BodyCells = readonly [
  created: number | null,
  bytes: number | null,
  text: string | null,
  isWhole: number,
  trace: string | null,
  collection: string | null,
  shape: string | null,
  version: string,
]
