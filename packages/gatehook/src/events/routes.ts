/** `GET /events` and `GET /events/{id}` (§9.11). */
import type { Call, Endpoint } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'
import type { Principal, Scope } from '../kernel/principal.ts'
import type { Collection, View } from '../lists/collection.ts'
import type { Lister } from '../lists/list.ts'
import type { Database, Value } from '../storage/database.ts'
import { fixed } from '../storage/sql.ts'
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
  counted: false,
  filter: ['id', 'type', 'created'],
  sort: ['id'],
}

const COLLECTION = eventList.columns.findIndex((column) => column.name === 'collection')

const byId = fixed(
  `SELECT ${eventList.columns.map((column) => column.name).join(', ')}
   FROM gh_events WHERE scope = ? AND id = ?`,
)

export interface EventDeps {
  readonly db: Database
  readonly list: Lister
  readonly render: RenderObject
  readonly seesWhole: SeesWhole
}

/**
 * The collections a principal may see every row of, which bound its events; undefined: all there
 * are.
 */
export type SeesWhole = (principal: Principal) => readonly string[] | undefined

/**
 * The events a principal may see (§6.7). A name of its own for each set, so that cursors of one
 * are not taken for another's. Names of collections are declared identifiers, never request data.
 */
function eventsFor(whole: readonly string[] | undefined): Collection {
  if (!whole) return eventList
  const names = whole.map((name) => `'${name}'`).join(', ')
  const where = whole.length > 0 ? `collection IN (${names})` : '1 = 0'
  return { ...eventList, name: `events of ${whole.join(' ')}`, where }
}

export function eventEndpoints({ db, list, render, seesWhole }: EventDeps): Endpoint[] {
  const scope = 'events:read'
  const visible = (call: Call) => eventsFor(seesWhole(call.principal!))
  return [
    {
      kind: 'root',
      path: '/events',
      methods: {
        GET: { scope, handle: (call) => list(call, visible(call), eventView(call, render)) },
      },
    },
    {
      kind: 'root',
      path: '/events/:id',
      methods: {
        GET: {
          scope,
          async handle(call) {
            const [row] = await db.arrays(byId([call.principal!.scope, call.params.id]))
            const whole = seesWhole(call.principal!)
            if (!row || (whole && !whole.includes(row[COLLECTION] as string))) {
              throw new Failure('not_found')
            }
            return { status: 200, json: eventView(call, render).item(row, {}) }
          },
        },
      },
    },
  ]
}

/** Events as this caller's pinned version shows them; the newest without a pin. */
function eventView(call: Call, render: RenderObject): View {
  const version = call.principal?.version
  const whole = (row: readonly Value[]): string => {
    const [id, type, created, scope, collection, shape, object] = row as [
      string,
      string,
      number,
      Scope,
      string | null,
      string,
      string,
    ]
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
