/**
 * The registrations of all customers with the health of their endpoints, for operators: `GET
 * /admin/webhooks` and `GET /admin/webhooks/{id}`. A page reads summaries, and of the deliveries
 * only those that wait, within bounds.
 */

import type { EventAccess } from '../../history/events/event-access.ts'
import { patternsOfType } from '../../history/events/event-pattern.ts'
import { createTypeNames, requireName } from '../../history/events/type-names.ts'
import {
  completeCustomers,
  completePage,
  readSelection,
  withMode,
} from '../../identity/access/across-customers.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Database, Value } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement } from '../../protocol/http/operation.ts'
import type { Collection, View } from '../../protocol/lists/collection.ts'
import { cellEncoder } from '../../protocol/lists/encode.ts'
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
import { overviewOperations as operations } from './overview-operations.ts'
import { registrationList } from './registration.ts'

/** Waiting deliveries that are counted for each endpoint of a page. */
const WAITING_MAX = 1_000

export interface HealthJson {
  readonly state: HealthState
  /** The share of attempts of the last 24 hours that receivers accepted; null without attempts. */
  readonly accepted_24h: number | null
  readonly attempts_24h: number
  /** At most `WAITING_MAX`. */
  readonly waiting: number
  readonly oldest_waiting_at: string | null
  /** Marks of `OUTCOME_MARKS`, oldest first. */
  readonly last60: string
}

const { columns, filter } = registrationList

const allRegistrations: Collection = {
  ...registrationList,
  name: 'webhooks of all',
  table: withMode('gh_webhooks'),
  columns: [
    ...columns,
    { name: 'no', type: 'int' },
    { name: 'scope', type: 'int' },
    { name: 'live', type: 'int' },
    { name: 'health', type: 'int' },
  ],
  scoped: false,
  filter: filter.filter((name) => name !== 'api_version'),
  sort: ['id', 'url', 'created_at', 'health'],
  indexes: [['id'], ['health', 'id'], ['scope', 'id']],
  parameters: Object.keys(operations.listEndpoints.query!),
}

const NUMBER = columns.length
const HEALTH = columns.length + 3

const encoders = columns.map((column) => [column.name, cellEncoder(column)] as const)

/** Customer and health contain numbers until `completeItems` replaces them. */
const view: View = {
  fields: [...columns.map(({ name }) => name), 'customer', 'customer_name', 'mode', 'health'],
  item(row, { fields, links }) {
    const scope = String(row[NUMBER + 1])
    const state = HEALTH_STATES[row[HEALTH] as number]
    const health = JSON.stringify({ no: row[NUMBER], scope: row[NUMBER + 1], state })
    const members: [string, string][] = [
      ...encoders.map(([name, encode], at): [string, string] => [name, encode(row[at]!)]),
      ['customer', scope],
      ['customer_name', scope],
      ['mode', scope],
      ['health', health],
    ]
    const selected = members.filter(([name]) => fields?.has(name) ?? true)
    if (links) selected.push(['_links', JSON.stringify({ self: `/admin/webhooks/${row[0]}` })])
    return `{${selected.map(([name, text]) => `"${name}":${text}`).join(',')}}`
  },
}

interface HealthPlaceholder extends EndpointKey {
  readonly state: HealthState
}

export interface AllRegistrationsDeps {
  readonly db: Database
  readonly clock: Clock
  readonly list: Lister
  readonly types: EventAccess
}

/** Returns the routes of the list and of one registration. */
export function allRegistrationRoutes({ db, clock, list, types }: AllRegistrationsDeps): Route[] {
  const completeItems = async (items: readonly Record<string, unknown>[]) => {
    const placeholders = items.flatMap(({ health }) => (health as HealthPlaceholder) ?? [])
    const [healthByNo] = await Promise.all([
      readHealth(db, placeholders, clock.now()),
      completeCustomers(db, items),
    ])
    for (const item of items) {
      if (item.health) item.health = healthByNo.get((item.health as HealthPlaceholder).no)
    }
  }
  return [
    implement(operations.listEndpoints, async (call, _, query) => {
      const { state, version, event } = query
      const { filters } = await readSelection(db, query)
      const all: Filter[] = [
        ...filters,
        ...(state ? [equality('health', healthRank(state))] : []),
        ...(version === undefined ? [] : [equality('api_version', version)]),
      ]
      const collection = collectionFor(types, event)
      return completePage(list(call, collection, view, { filters: all }), completeItems)
    }),
    implement(operations.readEndpoint, async ({ params }) => {
      const [row] = await db.arrays(byId([params.id!]))
      if (!row) throw new Failure('not_found')
      const item = JSON.parse(view.item(row, {})) as Record<string, unknown>
      await completeItems([item])
      return { status: 200, json: JSON.stringify(item) }
    }),
  ]
}

const equality = (column: string, value: string | number): Filter => ({
  column,
  operator: 'eq',
  values: [value],
})

const names = allRegistrations.columns.map(({ name }) => name).join(', ')
const byId = prepareStatement(
  `SELECT ${names} FROM ${allRegistrations.table} WHERE id = ? AND deleted_at IS NULL`,
)

/** Returns the registrations that receive a type. Types are declared names, never request data. */
function collectionFor({ collections }: EventAccess, type: string | undefined): Collection {
  if (type === undefined) return allRegistrations
  requireName('event', type, createTypeNames(collections.keys()).types)
  const patterns = patternsOfType(type).map((pattern) => `replace(events, '"${pattern}"', '')`)
  const condition = `(${patterns.map((text) => `${text} <> events`).join(' OR ')})`
  const visible = { condition, columns: ['events'] }
  return { ...allRegistrations, name: `${allRegistrations.name} for ${type}`, visible }
}

/** Reads the health of endpoints by number. */
export async function readHealth(
  db: Database,
  endpoints: readonly HealthPlaceholder[],
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
