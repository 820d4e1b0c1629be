/** Events as they are listed, shown and streamed: one description for all three (§9.11). */
import type { Principal, Scope } from '../kernel/principal.ts'
import type { Collection, View } from '../lists/collection.ts'
import type { Value } from '../storage/database.ts'
import { envelope, type RenderObject } from './event.ts'

const eventList: Collection = {
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
  integerId: false,
  scoped: true,
  hasStoredTotal: false,
  filter: ['id', 'type', 'created'],
  sort: ['id'],
  indexes: [['id'], ['type', 'id']],
  wide: true,
}

/** The columns a view reads, in their order. */
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

/** The types a principal may read (§9.14); undefined: all of them. */
export type ReadableTypes = (principal: Principal) => readonly string[] | undefined

/**
 * The events of these types. Each set has a name of its own, so that cursors of one are refused by
 * another. Types are declared identifiers, never request data.
 */
export function eventsOf(types: readonly string[] | undefined): Collection {
  if (!types) return eventList
  const names = types.map((type) => `'${type}'`).join(', ')
  const condition = types.length > 0 ? `type IN (${names})` : '1 = 0'
  const visible = { condition, columns: ['type'] }
  return { ...eventList, name: `events ${types.join(' ')}`, visible }
}

/** Events as `version` shows them; in the newest shape without one. */
export function eventView(version: string | undefined, render: RenderObject): View {
  const whole = (row: readonly Value[]): string => {
    const [id, type, created, scope, collection, shape, object] = row as unknown as EventCells
    const shown = render(collection ?? undefined, object, shape, version)
    return envelope({ id, type, created, scope }, shown)
  }
  return {
    fields: ['id', 'type', 'created', 'livemode', 'data'],
    item(row, { fields, links }) {
      const text = whole(row)
      if (!fields && !links) return text
      const all = JSON.parse(text) as Record<string, unknown>
      const shown = fields
        ? Object.entries(all).filter(([name]) => fields.has(name))
        : Object.entries(all)
      if (links) shown.push(['_links', { self: `/events/${all.id}` }])
      return JSON.stringify(Object.fromEntries(shown))
    },
  }
}
