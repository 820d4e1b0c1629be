/** `GET /events` and `GET /events/{id}` (§9.11). */
import type { Call, Endpoint } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'
import type { Scope } from '../kernel/principal.ts'
import type { Collection, View } from '../lists/collection.ts'
import type { Lister } from '../lists/list.ts'
import type { Database, Value } from '../storage/database.ts'
import { fixed } from '../storage/sql.ts'
import { envelope, type RenderObject } from './event.ts'

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
  integerId: false,
  scoped: true,
  counted: false,
  filter: ['id', 'type', 'created'],
  sort: ['id'],
}

const byId = fixed(
  `SELECT ${eventList.columns.map((column) => column.name).join(', ')}
   FROM gh_events WHERE scope = ? AND id = ?`,
)

export interface EventDeps {
  readonly db: Database
  readonly list: Lister
  readonly render: RenderObject
}

export function eventEndpoints({ db, list, render }: EventDeps): Endpoint[] {
  const scope = 'events:read'
  return [
    {
      kind: 'root',
      path: '/events',
      methods: { GET: { scope, handle: (call) => list(call, eventList, eventView(call, render)) } },
    },
    {
      kind: 'root',
      path: '/events/:id',
      methods: {
        GET: {
          scope,
          async handle(call) {
            const [row] = await db.arrays(byId([call.principal!.scope, call.params.id]))
            if (!row) throw new Failure('not_found')
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
