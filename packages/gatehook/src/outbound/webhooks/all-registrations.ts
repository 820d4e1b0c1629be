/**
 * The registrations of all customers with the health of their endpoints, for operators: `GET
 * /admin/webhooks` and `GET /admin/webhooks/{id}`. A page reads summaries, and of the deliveries
 * only those that wait, within bounds.
 */

import type { EventAccess } from '../../history/events/event-access.ts'
import { patternsOfType } from '../../history/events/event-pattern.ts'
import { createTypeNames, requireName } from '../../history/events/type-names.ts'
import {
  acrossCustomers,
  addedCustomer,
  readSelection,
} from '../../identity/access/across-customers.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Database, Reader, Value } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import type { JsonOf } from '../../protocol/fields/members.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement } from '../../protocol/http/operation.ts'
import type { Collection } from '../../protocol/lists/collection.ts'
import { type AddedMembers, createList, itemOf } from '../../protocol/lists/definition.ts'
import type { Filter } from '../../protocol/lists/filter.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import {
  countLastDay,
  HEALTH_STATES,
  type HealthState,
  healthRank,
} from '../deliveries/outcome-summary.ts'
import type { EndpointKey } from '../deliveries/ports.ts'
import * as store from '../deliveries/summary-store.ts'
import {
  endpoint,
  type endpointHealth,
  overviewOperations as operations,
} from './overview-operations.ts'
import { registrations } from './registration.ts'

/** Waiting deliveries that are counted for each endpoint of a page. */
const WAITING_MAX = 1_000

type HealthJson = JsonOf<typeof endpointHealth>

const HIDDEN = ['no', 'health'].map((name) => ({ name, type: 'int' as const }))

const everyRegistration = createList({
  ...acrossCustomers({ ...registrations, added: ['health'], hidden: HIDDEN }, '/admin/webhooks'),
  row: endpoint,
  filter: registrations.filter.filter((name) => name !== 'api_version'),
  sort: ['id', 'url', 'created_at', 'health'],
  indexes: [['id'], ['health', 'id'], ['scope', 'id']],
  parameters: Object.keys(operations.listEndpoints.query!),
})

/** Reads the health of rows with their number, scope and state. */
const addedHealth = (clock: Clock): AddedMembers => ({
  names: ['health'],
  async read(from, rows) {
    const endpoints = rows.map(({ no, scope, health }) => {
      return { no, scope, state: HEALTH_STATES[Number(health)]! }
    })
    const healthByNo = await readHealth(from, endpoints, clock.now())
    return endpoints.map(({ no }) => ({ health: healthByNo.get(no) }))
  },
})

export interface AllRegistrationsDeps {
  readonly db: Database
  readonly clock: Clock
  readonly list: Lister
  readonly types: EventAccess
}

/** Returns the routes of the list and of one registration. */
export function allRegistrationRoutes({ db, clock, list, types }: AllRegistrationsDeps): Route[] {
  const { view } = everyRegistration
  const added = [addedCustomer, addedHealth(clock)]
  return [
    implement(operations.listEndpoints, async (call, _, query) => {
      const { state, version, event } = query
      const { filters } = await readSelection(db, query)
      const all: Filter[] = [
        ...filters,
        ...(state ? [equality('health', healthRank(state))] : []),
        ...(version === undefined ? [] : [equality('api_version', version)]),
      ]
      return list(call, collectionFor(types, event), view, { filters: all, added })
    }),
    implement(operations.readEndpoint, async ({ params }) => {
      const [row] = await db.arrays(byId([params.id!]))
      if (!row) throw new Failure('not_found')
      return { status: 200, json: await itemOf(db, everyRegistration, row, added) }
    }),
  ]
}

const equality = (column: string, value: string | number): Filter => ({
  column,
  operator: 'eq',
  values: [value],
})

const { collection } = everyRegistration
const names = collection.columns.map(({ name }) => name).join(', ')
const byId = prepareStatement(
  `SELECT ${names} FROM ${collection.table} WHERE id = ? AND deleted_at IS NULL`,
)

/** Returns the registrations that receive a type. Types are declared names, never request data. */
function collectionFor({ collections }: EventAccess, type: string | undefined): Collection {
  if (type === undefined) return collection
  requireName('event', type, createTypeNames(collections.keys()).types)
  const patterns = patternsOfType(type).map((pattern) => `replace(events, '"${pattern}"', '')`)
  const condition = `(${patterns.map((text) => `${text} <> events`).join(' OR ')})`
  const visible = { condition, columns: ['events'] }
  return { ...collection, name: `${collection.name} for ${type}`, visible }
}

interface ListedEndpoint extends EndpointKey {
  readonly state: HealthState
}

/** Reads the health of endpoints by number. */
export async function readHealth(
  db: Reader,
  endpoints: readonly ListedEndpoint[],
  now: number,
  waitingMax = WAITING_MAX,
): Promise<ReadonlyMap<number, HealthJson>> {
  const healths = endpoints.map(async (endpoint) => {
    const [outcomes, waiting] = await Promise.all([
      store.readOutcomes(db, endpoint),
      store.countWaiting(db, endpoint, waitingMax),
    ])
    return [endpoint.no, healthJson(endpoint.state, outcomes, waiting, now)] as const
  })
  return new Map(await Promise.all(healths))
}

function healthJson(
  state: HealthState,
  outcomes: store.OutcomesRow | undefined,
  waiting: store.WaitingRow,
  now: number,
): HealthJson {
  const { accepted, failed } = outcomes ? countLastDay(outcomes, now) : { accepted: 0, failed: 0 }
  const attempts = accepted + failed
  return {
    state,
    accepted_24h: attempts === 0 ? null : Math.round((accepted / attempts) * 10_000) / 10_000,
    attempts_24h: attempts,
    waiting: Number(waiting?.waiting ?? 0),
    oldest_waiting_at: waiting?.oldest == null ? null : isoTime(waiting.oldest as Value as number),
    last60: outcomes?.marks ?? '',
  }
}
