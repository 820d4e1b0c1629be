/**
 * The deliveries of all customers, for operators: `GET /admin/deliveries`, newest rows along the
 * index that the parameters select, and `GET /admin/deliveries/{id}`.
 */

import type { EventAccess } from '../../history/events/event-access.ts'
import { withTypeNames } from '../../history/events/type-names.ts'
import {
  completeCustomers,
  completePage,
  readSelection,
  withMode,
} from '../../identity/access/across-customers.ts'
import type { Database, Reader, Value } from '../../platform/storage/database.ts'
import type { ValuesOf } from '../../protocol/fields/members.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement } from '../../protocol/http/operation.ts'
import { parameterFailure } from '../../protocol/http/query.ts'
import type { Collection, View } from '../../protocol/lists/collection.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import { decodeAttempts } from '../deliveries/delivery.ts'
import { IN_STATE } from '../deliveries/event-log-store.ts'
import type { DeliveryRow } from '../deliveries/log-store.ts'
import { findRegistrationNo, readRegistrationStatuses } from '../deliveries/registration-store.ts'
import {
  DELIVERY_FIELDS,
  deliveryList,
  HAS_FAILED,
  representationOf,
  stateMembers,
  withoutBody,
} from './delivery-log.ts'
import { overviewOperations } from './overview-operations.ts'
import { findNumberAt, idFilters } from './time-range.ts'

const operation = overviewOperations.listDeliveries
type DeliveryQuery = ValuesOf<NonNullable<typeof operation.query>>

const COLUMNS = [
  ...deliveryList.columns,
  { name: 'webhook_no', type: 'int' },
  { name: 'scope', type: 'int' },
  { name: 'live', type: 'int' },
] as const satisfies Collection['columns']

const base: Collection = {
  ...deliveryList,
  table: withMode('gh_deliveries'),
  columns: COLUMNS,
  filter: ['event_id', 'event_type'],
  parameters: Object.keys(operation.query!),
}
/** The deliveries of one registration, and of one customer in one mode. */
const ofRegistration: Collection = { ...base, name: 'deliveries of a registration' }
const { owner: _, ...unowned } = base
const ofCustomer: Collection = {
  ...unowned,
  name: 'deliveries of a customer',
  scoped: true,
  indexes: [['id']],
}
/** The deliveries of all, in the order of insertion: no index has the ids of all customers. */
const NUMBER = { name: 'no', type: 'int' } as const
const ofAll: Collection = {
  ...unowned,
  name: 'deliveries of all',
  columns: [NUMBER, ...COLUMNS],
  sort: ['no'],
  indexes: [['no']],
}
/** On distributed tables: numbers are times there, which several deliveries have. */
const ofAllServers: Collection = {
  ...unowned,
  name: 'deliveries of all servers',
  indexes: [['id']],
}

const viewOf = (collection: Collection): View => ({
  fields: [...DELIVERY_FIELDS, 'customer', 'customer_name', 'mode'],
  ...(collection.columns[0] === NUMBER && { renamed: { id: 'no' } }),
  item(cells: readonly Value[], { fields, links }) {
    const row = Object.fromEntries(
      collection.columns.map(({ name }, index) => [name, cells[index]]),
    ) as unknown as DeliveryRow
    const { scope } = row
    const attempts = decodeAttempts(row.attempts).map(withoutBody)
    // The registration is unknown before `completeItems`.
    const all: Record<string, unknown> = {
      ...representationOf(undefined, row, attempts),
      customer: scope,
      customer_name: scope,
      mode: scope,
    }
    const selected = Object.entries(all).filter(([name]) => fields?.has(name) ?? true)
    if (links) selected.push(['_links', { self: `/admin/deliveries/${row.id}` }])
    const { webhook_no, state, next_attempt_at } = row
    return JSON.stringify({
      ...Object.fromEntries(selected),
      row: { webhook_no, state, next_attempt_at },
    })
  },
})

/** Replaces the members that depend on the registration and the customer of a delivery. */
async function completeItems(db: Reader, items: readonly Record<string, unknown>[]): Promise<void> {
  const rows = items.map((item) => item.row as DeliveryRow)
  const registrations = await readRegistrationStatuses(
    db,
    rows.map(({ webhook_no }) => webhook_no),
  )
  items.forEach((item, at) => {
    const { state, next_attempt_at, webhook_id } = stateMembers(
      registrations.get(rows[at]!.webhook_no),
      rows[at]!,
    )
    delete item.row
    Object.assign(
      item,
      'state' in item && { state },
      'next_attempt_at' in item && { next_attempt_at },
      'webhook_id' in item && { webhook_id },
    )
  })
  await completeCustomers(db, items)
}

interface AllDeliveriesDeps {
  readonly db: Database
  readonly list: Lister
  readonly types: EventAccess
}

export const allDeliveriesRoute = ({ db, list, types }: AllDeliveriesDeps): Route =>
  implement(operation, async (call, _, query) => {
    const { state } = query
    const registrationNo = await readRegistrationNo(db, query)
    const { scope, filters } = await readSelection(db, query)
    const ofEveryone = db.dialect.distributed ? ofAllServers : ofAll
    const ofSelected = scope === undefined ? ofEveryone : ofCustomer
    const order = registrationNo === undefined ? ofSelected : ofRegistration
    const period =
      order === ofAll
        ? await findNumberAt(db, query, { table: 'gh_deliveries', number: 'no', at: 'created_at' })
        : idFilters('dlv_', query)
    const listed = withTypeNames(withState(order, state), 'event_type', types.collections.keys())
    const page = list(call, listed, viewOf(order), {
      ...(registrationNo !== undefined && { owner: registrationNo }),
      ...(order === ofCustomer && scope !== undefined && { scope }),
      filters: [...(order === ofCustomer ? [] : filters), ...period],
    })
    return completePage(page, (items) => completeItems(db, items))
  })

/** Returns the deliveries in a state. Few fail, so that they have an index of their own. */
function withState(collection: Collection, state: DeliveryQuery['state']): Collection {
  if (state === undefined) return collection
  const visible = { condition: IN_STATE[state], columns: ['state', 'webhook_no'] }
  const isFailed = state === 'failed' || state === 'exhausted'
  const name = `${collection.name} ${state}`
  return { ...collection, name, visible, ...(isFailed && { where: HAS_FAILED }) }
}

async function readRegistrationNo(
  from: Reader,
  { webhook: id }: DeliveryQuery,
): Promise<number | undefined> {
  if (id === undefined) return undefined
  const no = await findRegistrationNo(from, id)
  if (no !== undefined) return no
  throw parameterFailure('invalid_parameter', 'webhook', 'is not a known registration')
}
