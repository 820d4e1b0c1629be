/**
 * The events of all customers with their deliveries, for operators: `GET /admin/events`, newest
 * rows along the index that the parameters select, one event, and its payload in each version.
 */

import { envelope, type RenderObject } from '../../history/events/event.ts'
import type { EventAccess } from '../../history/events/event-access.ts'
import { matchesAny } from '../../history/events/event-pattern.ts'
import { events } from '../../history/events/tables.ts'
import { createTypeNames, readNames } from '../../history/events/type-names.ts'
import { eventList, eventListFor, eventView } from '../../history/events/view.ts'
import {
  addedCustomer,
  customersOf,
  inEveryScope,
  readSelection,
  withMode,
} from '../../identity/access/across-customers.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { modeOf, type Scope } from '../../kernel/principal.ts'
import type { Database, Row } from '../../platform/storage/database.ts'
import { requireOneServer } from '../../platform/storage/distribution/one-server.ts'
import { sql } from '../../platform/storage/sql.ts'
import type { ValuesOf } from '../../protocol/fields/members.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { parameterFailure } from '../../protocol/http/query.ts'
import type { Collection } from '../../protocol/lists/collection.ts'
import { type AddedMembers, inOrderOf, type List } from '../../protocol/lists/definition.ts'
import type { Filter } from '../../protocol/lists/filter.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import { findDeliveryOfEvent, hasDeliveryIn, STATE_COLUMNS } from '../deliveries/event-log-store.ts'
import {
  countDeliveries,
  readDeliveriesOfEvent,
  readRegistrationsNaming,
  totalsOf,
} from './event-deliveries.ts'
import { allEventOperations as operations } from './event-overview.ts'
import { findNumberAt, idFilters } from './time-range.ts'

type EventQuery = ValuesOf<NonNullable<typeof operations.list.query>>

/** The columns that `addedFacts` and filters read. */
const FACTS = [
  { name: 'object_id', type: 'int', nullable: true },
  { name: 'object_key', type: 'text', nullable: true },
  { name: 'request_id', type: 'text', nullable: true },
  { name: 'live', type: 'int' },
] as const satisfies Collection['columns']

/** Returns the events of one customer in one mode. */
function eventsOfCustomer(render: RenderObject, eventList: Collection): List {
  const { fields, item } = eventView(undefined, render, '/admin/events')
  return {
    collection: {
      ...eventList,
      name: 'events of a customer',
      table: withMode(events.name),
      columns: [...eventList.columns, ...FACTS],
      filter: [],
      parameters: Object.keys(operations.list.query!),
    },
    view: { fields: [...fields, ...added.flatMap(({ names }) => names)], item },
  }
}

/** Events in the order of insertion: no index has the ids of all customers. */
const POSITION = { name: 'position', type: 'int' } as const

interface ListedCells {
  readonly id: string
  readonly type: string
  readonly scope: Scope
  readonly collection: string | null
  readonly object_id: number | null
  /** The id of an object if it is a text. */
  readonly object_key: string | null
  readonly request_id: string | null
}

type ObjectCells = Pick<ListedCells, 'collection' | 'object_id' | 'object_key'>

function objectOf({ collection, object_id, object_key }: ObjectCells): string | null {
  const id = object_key ?? object_id
  return collection === null || id === null ? null : `${collection}/${id}`
}

const addedFacts: AddedMembers = {
  names: ['object', 'request_id'],
  read: async (_, rows) =>
    rows.map((row) => ({ object: objectOf(row as ObjectCells), request_id: row.request_id })),
}

const addedTotals: AddedMembers = {
  names: ['deliveries'],
  async read(from, rows) {
    const keys = rows.map(({ scope, id }) => ({ scope: Number(scope), id: id as string }))
    const totals = await countDeliveries(from, keys)
    return keys.map((key) => ({ deliveries: totalsOf(totals, key) }))
  },
}

const added = [addedCustomer, addedFacts, addedTotals]

const OF_ONE = 'is not served for all customers of a distributed database: add `customer`'

interface AllEventsDeps {
  readonly db: Database
  readonly clock: Clock
  readonly list: Lister
  readonly types: EventAccess
  readonly render: RenderObject
  /** The declared versions. */
  readonly versions: readonly string[]
}

export function allEventRoutes(deps: AllEventsDeps): Route[] {
  const { db, clock, list, types, render, versions } = deps
  const ofCustomer = eventsOfCustomer(render, eventListFor(db.dialect))
  const ofAll = inOrderOf(POSITION, eventsOfCustomer(render, eventList))
  return [
    implement(operations.list, async (call, _, query) => {
      const { scope, filters } = await readSelection(db, query)
      const { collection, view } = scope === undefined ? ofAll : ofCustomer
      if (scope === undefined && query.delivery_state !== undefined) {
        requireOneServer(db, () => parameterFailure('invalid_parameter', 'delivery_state', OF_ONE))
      }
      const period = await readPeriod(db, query, scope)
      return list(call, withDeliveryState(collection, query), view, {
        ...(scope !== undefined && { scope }),
        filters: [...(scope === undefined ? filters : []), ...filtersOf(query, types), ...period],
        added,
      })
    }),
    implement(operations.read, async ({ params }, _, { expand }) => {
      const event = await requireEvent(db, params.id!)
      const key = { scope: event.scope, id: event.id }
      const [customers, totals] = await Promise.all([
        customersOf(db, [event.scope]),
        countDeliveries(db, [key]),
      ])
      const { id, type, created, scope } = event
      const { object } = event
      const text = object === undefined ? undefined : render({ ...event, object }, undefined)
      const data = text === undefined ? null : { object: JSON.parse(text) }
      return respond(operations.read, {
        ...{ id, type, created, livemode: modeOf(scope) === 'live', data },
        ...customers.get(scope)!,
        object: objectOf(event),
        request_id: event.request_id,
        deliveries: {
          ...totalsOf(totals, key),
          ...(expand && {
            data: await readDeliveriesOfEvent(db, key, clock.now()),
            named_by: await readRegistrationsNaming(db, types, event),
          }),
        },
      })
    }),
    implement(operations.payload, async ({ params }, _, { version }) => {
      if (version !== undefined && !versions.includes(version)) {
        throw parameterFailure('invalid_parameter', 'version', `is none of ${versions.join(', ')}`)
      }
      const event = await requireEvent(db, params.id!)
      const { object } = event
      if (object === undefined) throw new Failure('not_found', 'The event was purged.')
      const text = render({ ...event, object }, version)
      return { status: 200, json: envelope(event, text) }
    }),
  ]
}

type FoundEvent = Omit<ListedCells, 'collection'> & {
  readonly created: number
  readonly collection: string | null
  readonly shape: string
  /** Undefined for an event that was purged, of which deliveries remain. */
  readonly object: string | undefined
}

const eventById = (id: string) =>
  inEveryScope(
    'e.scope, e.id, e.type, e.created, e.collection, e.object_id, e.object_key, e.request_id, ' +
      'e.shape, e.object',
    events.name,
    sql`e.id = ${id}`,
    { limit: 1 },
  )

/** Finds an event of any customer. Throws 404. */
async function requireEvent(db: Database, id: string): Promise<FoundEvent> {
  const row = await db.snapshot(
    async (reader): Promise<FoundEvent | undefined> => {
      const event = await reader.get<FoundEvent & Row>(eventById(id))
      if (event || !/^evt_[0-9A-Za-z]+$/.test(id)) return event
      const delivery = await findDeliveryOfEvent(reader, id)
      return (
        delivery && {
          id,
          scope: delivery.scope,
          type: delivery.event_type,
          created: Math.floor(delivery.created_at / 1000),
          ...{
            collection: null,
            object_id: null,
            object_key: null,
            request_id: null,
            shape: '',
            object: undefined,
          },
        }
      )
    },
    { ordered: true },
  )
  if (!row) throw new Failure('not_found')
  return row
}

/** `orders/7`, `bookings/bk_0VhKq3ZrT4mXw9sLd2fGhJ`. */
const OBJECT = /^([a-z0-9_]+)\/(?:([1-9][0-9]{0,15})|([a-z][a-z0-9]{0,7}_[0-9A-Za-z]{22}))$/

/** Returns the filters of type, object and request. */
function filtersOf({ type, object, request_id }: EventQuery, types: EventAccess): Filter[] {
  const filters: Filter[] = []
  if (type !== undefined) filters.push({ column: 'type', ...typesOf(type, types) })
  if (request_id !== undefined) {
    filters.push({ column: 'request_id', operator: 'eq', values: [request_id] })
  }
  if (object !== undefined) {
    const [, collection, number, key] = OBJECT.exec(object) ?? []
    if (collection === undefined) {
      throw parameterFailure('invalid_parameter', 'object', 'must be a collection and an id')
    }
    // The index on types serves the filter: an event of the object has a type of its collection.
    const ofCollection = [...types.collections].flatMap(([name, owner]) =>
      owner === collection ? [name] : [],
    )
    filters.push(
      key === undefined
        ? { column: 'object_id', operator: 'eq', values: [Number(number)] }
        : { column: 'object_key', operator: 'eq', values: [key] },
    )
    filters.push({ column: 'collection', operator: 'eq', values: [collection] })
    if (type === undefined && ofCollection.length > 0) {
      filters.push({ column: 'type', operator: 'in', values: ofCollection.sort() })
    }
  }
  return filters
}

const TYPES_MAX = 100

/** Expands patterns to the declared types. */
function typesOf(text: string, { collections }: EventAccess): Omit<Filter, 'column'> {
  const patterns = readNames('type', text, createTypeNames(collections.keys()).patterns)
  const values = [...collections.keys()].filter((type) => matchesAny(patterns, type)).sort()
  if (values.length > TYPES_MAX) {
    throw parameterFailure('invalid_parameter', 'type', `names more than ${TYPES_MAX} types`)
  }
  return { operator: 'in', values }
}

/** Returns the events that have a delivery in the state; `examined` are the rows of the list. */
function withDeliveryState(collection: Collection, { delivery_state: state }: EventQuery) {
  if (state === undefined) return collection
  const visible = { condition: hasDeliveryIn(state, 'examined'), columns: STATE_COLUMNS }
  return { ...collection, name: `${collection.name} ${state}`, visible }
}

async function readPeriod(
  db: Database,
  query: EventQuery,
  scope: Scope | undefined,
): Promise<readonly Filter[]> {
  if (scope !== undefined) return idFilters('evt_', query)
  // `created` is in seconds: the positions include the whole first second, and ids are exact.
  const table = { table: events.name, number: 'position', at: 'created * 1000 + 999' }
  const from = await findNumberAt(db, { from: query.from }, table)
  return [
    ...from,
    ...(await findNumberAt(db, { to: query.to }, { ...table, at: 'created * 1000' })),
    ...idFilters('evt_', query),
  ]
}
