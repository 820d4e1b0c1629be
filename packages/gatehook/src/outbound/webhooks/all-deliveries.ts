/**
 * The deliveries of all customers, for operators: `GET /admin/deliveries`, newest rows along the
 * index that the parameters select, and `GET /admin/deliveries/{id}`.
 */

import type { EventAccess } from '../../history/events/event-access.ts'
import { withTypeNames } from '../../history/events/type-names.ts'
import { hasWaiting } from '../../history/events/waiting.ts'
import {
  acrossCustomers,
  addedCustomer,
  readSelection,
} from '../../identity/access/across-customers.ts'
import type { Database, Reader } from '../../platform/storage/database.ts'
import type { ValuesOf } from '../../protocol/fields/members.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement } from '../../protocol/http/operation.ts'
import { parameterFailure } from '../../protocol/http/query.ts'
import type { Collection } from '../../protocol/lists/collection.ts'
import { createList, type List } from '../../protocol/lists/definition.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import { IN_STATE } from '../deliveries/event-log-store.ts'
import { findRegistrationNo, readRegistrationStatuses } from '../deliveries/registration-store.ts'
import { addedStates, deliveryLog, HAS_FAILED, withWaiting } from './delivery-log.ts'
import { listedDelivery, overviewOperations } from './overview-operations.ts'
import { idFilters } from './time-range.ts'

const operation = overviewOperations.listDeliveries
type DeliveryQuery = ValuesOf<NonNullable<typeof operation.query>>

/** The deliveries of one registration. */
const ofRegistration = createList({
  ...acrossCustomers(deliveryLog, '/admin/deliveries'),
  row: listedDelivery,
  links: ([id]) => ({ self: `/admin/deliveries/${id}` }),
  filter: ['event_id', 'event_type'],
  parameters: Object.keys(operation.query!),
})
const { view } = ofRegistration
const { owner: _, ...unowned } = ofRegistration.collection
/** The deliveries of all customers. */
const ofAll: List = {
  collection: { ...unowned, name: 'deliveries of all customers', indexes: [['id']] },
  view,
}
/** The deliveries of one customer in one mode. */
const ofCustomer: List = {
  collection: { ...ofAll.collection, name: 'deliveries of a customer', scoped: true },
  view,
}

/** States in which no delivery waits in its event. */
const ENDED: ReadonlySet<string | undefined> = new Set(['delivered', 'failed', 'exhausted'])

const added = [addedCustomer, addedStates(readRegistrationStatuses)]

interface AllDeliveriesDeps {
  readonly db: Database
  readonly list: Lister
  readonly types: EventAccess
}

export const allDeliveriesRoute = ({ db, list, types }: AllDeliveriesDeps): Route =>
  implement(operation, async (call, _, query) => {
    const { state } = query
    const no = await readRegistrationNo(db, query)
    const { scope, filters } = await readSelection(db, query)
    const ofSelected = scope === undefined ? ofAll : ofCustomer
    const order = no === undefined ? ofSelected : ofRegistration
    const waits = !ENDED.has(state) && (await hasWaiting(db, { no, scope }))
    const collection = waits ? withWaiting(order.collection) : order.collection
    const names = types.collections.keys()
    return list(call, withTypeNames(withState(collection, state), 'event_type', names), view, {
      ...(no !== undefined && { owner: no }),
      ...(order === ofCustomer && { scope: scope! }),
      filters: [...(order === ofCustomer ? [] : filters), ...idFilters('dlv_', query)],
      added,
    })
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
