/**
 * Look-ups of events by their ids. Several indexes of `gh_events` begin with the scope. While a
 * partition is young, PostgreSQL takes any of them for `scope = ? AND id = ?`, and then reads all
 * events of the scope; only one index has a range of ids in their order.
 */
import { type PreparedStatement, prepareStatement } from '../../platform/storage/sql.ts'

/** Prepares the read of one event; its values are scope and id. */
export const prepareEvent = (columns: string): PreparedStatement =>
  prepareStatement(
    `SELECT ${columns} FROM gh_events WHERE scope = ? AND ${isId('$2')}`,
    `SELECT ${columns} FROM gh_events WHERE scope = ? AND id = ?`,
  )

/**
 * Prepares the read of `size` events in any order; its values are the ids, each once, then the
 * scope; a value without an event, such as an empty one, is ignored.
 */
export function prepareEvents(columns: string, size: number): PreparedStatement {
  const marks = Array(size).fill('?').join(', ')
  const values = Array(size).fill('(CAST(? AS TEXT))').join(', ')
  return prepareStatement(
    `SELECT ${columns} FROM (SELECT column1 AS wanted FROM (VALUES ${values}) AS ids) AS ids
     CROSS JOIN ${lateralEvent(`$${size + 1}`, 'ids.wanted')} AS e`,
    `SELECT ${columns} FROM gh_events WHERE id IN (${marks}) AND scope = ?`,
  )
}

/** SQL after JOIN: the event `e` of a row, which has its `scope` and `event_id`. */
export const eventOf = (row: string): string =>
  `gh_events e ON e.scope = ${row}.scope AND e.id = ${row}.event_id`

/** The condition that the event of a row is stored. */
export const isEventStored = (row: string): string => `EXISTS (SELECT 1 FROM gh_events
  WHERE gh_events.scope = ${row}.scope AND gh_events.id = ${row}.event_id)`

/** SQL of PostgreSQL for the event of a row that was read before; `scope` and `id` are SQL. */
export const lateralEvent = (scope: string, id: string): string =>
  `LATERAL (SELECT * FROM gh_events WHERE scope = ${scope} AND ${isId(id)})`

const isId = (id: string): string => `id >= ${id} AND id <= ${id} ORDER BY id LIMIT 1`
