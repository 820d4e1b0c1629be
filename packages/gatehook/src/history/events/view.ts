/** Events as lists, single reads and streams return them (§9.11). */
import type { Principal, Scope } from '../../kernel/principal.ts'
import type { Dialect, Value } from '../../platform/storage/database.ts'
import { memberTexts, objectText } from '../../protocol/http/json-text.ts'
import type { Collection, View } from '../../protocol/lists/collection.ts'
import { EVENT_MAX_BYTES, envelope, type RenderObject } from './event.ts'

export const eventList: Collection = {
  name: 'events',
  table: 'gh_events',
  columns: [
    { name: 'id', type: 'text' },
    { name: 'type', type: 'text' },
    { name: 'created', type: 'int' },
    { name: 'scope', type: 'int' },
    { name: 'collection', type: 'text', nullable: true },
    { name: 'shape', type: 'text' },
    { name: 'object', type: 'json' },
  ],
  scoped: true,
  filter: ['id', 'type', 'created'],
  sort: ['id'],
  indexes: [['id'], ['type', 'id']],
  maxRowBytes: 2 * EVENT_MAX_BYTES, // the object is stored as JSON
}

/** Returns the list in the order of commits, where ids have another one. */
export function eventListFor({ commitOrder: commits }: Dialect): Collection {
  if (!commits) return eventList
  const [columns, byType] = [commits.columns, ['type', ...commits.columns]]
  return {
    ...eventList,
    columns: [
      ...eventList.columns,
      ...columns.map((name) => ({ name, type: 'int' as const })),
      { name: commits.open, type: 'text' },
    ],
    commits,
    indexes: [['id'], columns, byType],
  }
}

/** The columns that a view reads, in order. */
export const EVENT_COLUMNS = eventList.columns.map((column) => column.name).join(', ')

/** A row of `EVENT_COLUMNS`. */
export type EventCells = readonly [
  id: string,
  type: string,
  created: number,
  scope: Scope,
  collection: string | null,
  shape: string,
  object: string,
]

/** Returns the types that a principal may read (§9.14); undefined: all of them. */
export type ReadableTypes = (principal: Principal) => readonly string[] | undefined

/**
 * Returns the part of a list of events with these types. Each set of types has a name of its own,
 * so that the cursors of one list are invalid in another. Types are declared identifiers, never
 * request data.
 */
export function eventListOf(list: Collection, types: readonly string[] | undefined): Collection {
  if (!types) return list
  const literals = types.map((type) => `'${type}'`).join(', ')
  const condition = types.length > 0 ? `type IN (${literals})` : '1 = 0'
  const visible = { condition, columns: ['type'] }
  return { ...list, name: `events ${types.join(' ')}`, visible }
}

/**
 * Returns the view of events in a version; undefined: in the newest shape. An event is served at
 * `path`/`id`.
 */
export function eventView(
  version: string | undefined,
  render: RenderObject,
  path = '/events',
): View {
  const eventText = (row: readonly Value[]): string => {
    const [id, type, created, scope, collection, shape, object] = row as unknown as EventCells
    const renderedObject = render({ type, collection, object, shape, created }, version)
    return envelope({ id, type, created, scope }, renderedObject)
  }
  return {
    fields: ['id', 'type', 'created', 'livemode', 'data'],
    item(row, { fields, links }) {
      const text = eventText(row)
      if (!fields && !links) return text
      const members = memberTexts(text)
      for (const name of members.keys()) if (fields?.has(name) === false) members.delete(name)
      if (links) members.set('_links', JSON.stringify({ self: `${path}/${row[0]}` }))
      return objectText(members)
    },
  }
}
