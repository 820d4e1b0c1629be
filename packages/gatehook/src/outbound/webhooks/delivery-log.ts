/** The delivery log as the API returns it (§9.10): lists, single deliveries, visibility. */

import { withTypeNames } from '../../history/events/type-names.ts'
import { Failure } from '../../kernel/failure.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Reader } from '../../platform/storage/database.ts'
import type { ListCell } from '../../protocol/fields/kind.ts'
import { textCell } from '../../protocol/fields/kinds/cells.ts'
import { b } from '../../protocol/fields/members.ts'
import type { Call } from '../../protocol/http/call.ts'
import { Query } from '../../protocol/http/query.ts'
import type { Collection } from '../../protocol/lists/collection.ts'
import { type AddedMembers, createList, type EngineList } from '../../protocol/lists/definition.ts'
import { ROWS_AND_WAITING } from '../deliveries/backlog-store.ts'
import {
  ATTEMPTS_BYTES_MAX,
  type AttemptRecord,
  DELIVERY_STATES,
  decodeAttempts,
  deliveryState,
} from '../deliveries/delivery.ts'
import { type DeliveryRow, findDelivery } from '../deliveries/log-store.ts'
import type { Registration } from '../deliveries/registration-store.ts'
import { registrationOf } from '../deliveries/registration-store.ts'
import { deliveries } from '../deliveries/tables.ts'
import { FINAL_STATUS } from '../transport/attempt.ts'
import type { WebhookContext } from './registrations.ts'

const deliveryMembers = {
  id: b.text().example('dlv_01jdq8w9vgk7'),
  event_id: b.text().example('evt_01jdq8w9vgk7'),
  event_type: b.text().example('ping'),
  webhook_id: b.text().example('wh_01jdq8w9vgk7'),
  state: b.openSet(DELIVERY_STATES).example('delivered'),
  next_attempt_at: b.time().nullable().example(null),
  created_at: b.time(),
}

/** Operators also read deliveries of a registration that was purged. */
export const anyDeliveryMembers = {
  ...deliveryMembers,
  webhook_id: deliveryMembers.webhook_id.nullable(),
}

/** An attempt as the API returns it (§9.10). */
export const attemptMembers = {
  n: b
    .int(1)
    .describe(
      'The number of the attempt, from 1. A delivery stores the first one and the newest, at ' +
        'most 128 KiB: the numbers of others are missing.',
    ),
  at: b.time(),
  status: b
    .int(FINAL_STATUS.min, FINAL_STATUS.max)
    .nullable()
    .describe('Null without a response.')
    .example(200),
  duration_ms: b.int(0).example(120),
  error: b.text().nullable().example(null),
  response_headers: b.map(b.text()).nullable(),
  response_body: b
    .text()
    .nullable()
    .describe(
      'The first 16 KiB, less if they need 32 KiB of JSON. Null in lists; a single delivery ' +
        'has it.',
    )
    .example(null),
}

export const delivery = b
  .object({ ...deliveryMembers, attempts: b.list(b.object(attemptMembers)) })
  .named('Delivery')
  .columns({
    created_at: { as: 'time' },
    event_type: { title: 'event', as: 'code', isWide: true },
    state: {
      states: [
        ['state', { pending: ['warn', 'pending, retries'] }, 'attempts'],
        ['state', { delivered: ['ok'], pending: ['idle'], paused: ['hold'], '*': ['bad'] }],
      ],
    },
    attempts: { title: 'last attempt', as: 'attempts' },
    next_attempt_at: { title: 'next', as: 'time' },
    id: {},
  })

/** List items carry no response bodies (§11.5). */
const attemptsCell: ListCell = {
  ...textCell,
  encode: (stored) => JSON.stringify(decodeAttempts(stored as string).map(withoutBody)),
  none: '[]',
}

/** The members that depend on the registration of a delivery. */
const OF_REGISTRATION = ['webhook_id', 'state', 'next_attempt_at']

/** The log of the registration `owner`. The handler has checked that it is the caller's. */
export const deliveryLog: EngineList = {
  row: delivery,
  path: '/deliveries',
  links: ([id, event]) => ({ self: `/deliveries/${id}`, event: `/events/${event}` }),
  name: 'deliveries',
  table: deliveries.name,
  cells: { attempts: attemptsCell },
  added: OF_REGISTRATION,
  hidden: [
    { name: 'state', type: 'text', oneOf: DELIVERY_STATES },
    { name: 'next_attempt_at', type: 'time', nullable: true },
    { name: 'webhook_no', type: 'int' },
  ],
  owner: 'webhook_no',
  filter: ['id', 'event_id', 'event_type', 'state', 'created_at'],
  sort: ['id'],
  indexes: [['webhook_no', 'id']],
  maxRowBytes: 2 * ATTEMPTS_BYTES_MAX, // the attempts are stored as JSON
}

export const deliveryList = createList(deliveryLog)

/** Returns a log with the deliveries that wait in their events (decision 0083). */
export const withWaiting = (log: Collection): Collection => ({
  ...log,
  table: log.table.replace(deliveries.name, `${ROWS_AND_WAITING} AS all_deliveries`),
})

/** Returns the members of deliveries from their registrations, which `find` returns by number. */
export const addedStates = (
  find: (from: Reader, nos: readonly number[]) => Promise<ReadonlyMap<number, RegistrationState>>,
): AddedMembers => ({
  names: OF_REGISTRATION,
  async read(from, rows) {
    const registrations = await find(
      from,
      rows.map((row) => Number(row.webhook_no)),
    )
    return rows.map((row) =>
      stateMembers(registrations.get(Number(row.webhook_no)), row as DeliveryRow),
    )
  },
})

/**
 * Returns the log without types that the caller may not read (§9.14). Types are declared
 * identifiers, never request data.
 */
export function deliveriesFor({ types }: Pick<WebhookContext, 'types'>, call: Call): Collection {
  const readable = types.readableTypes(call.principal!)
  const list = withTypeNames(deliveryList.collection, 'event_type', types.collections.keys())
  if (!readable) return list
  const literals = readable.map((type) => `'${type}'`).join(', ')
  const condition = literals === '' ? '1 = 0' : `event_type IN (${literals})`
  const visible = { condition, columns: ['event_type'] }
  return { ...list, name: `deliveries ${readable.join(' ')}`, visible }
}

const FAILURES = ['failed', 'exhausted']
/** The condition of the indexes of failed and exhausted deliveries, as in their migration. */
export const HAS_FAILED = 'failed = 1'

/**
 * Returns the log of failures if a filter selects only such states: most deliveries succeed, and
 * their own index finds the others.
 */
export function failuresOnly(log: Collection, { query }: Pick<Call, 'query'>): Collection {
  const selectsFailures = query.entries.some(
    ([name, value]) =>
      /^state(\[(eq|in)\])?$/.test(name) &&
      value.split(',').every((state) => FAILURES.includes(state)),
  )
  return selectsFailures ? { ...log, where: HAS_FAILED } : log
}

type LoggedCells = Omit<DeliveryRow, 'scope' | 'webhook_no'>

type RegistrationState = Pick<Registration, 'id' | 'active' | 'deleted_at'>

function stateMembers(
  registration: RegistrationState | undefined,
  { state: stored, next_attempt_at: next }: Pick<LoggedCells, 'state' | 'next_attempt_at'>,
) {
  const state = deliveryState(stored, registration)
  return {
    webhook_id: registration?.id ?? null,
    state,
    next_attempt_at: state === 'pending' && next !== null ? isoTime(next) : null,
  }
}

export function representationOf<A extends AttemptRecord>(
  registration: RegistrationState | undefined,
  row: LoggedCells,
  attempts: readonly A[],
) {
  const { id, event_id, event_type } = row
  return {
    id,
    event_id,
    event_type,
    ...stateMembers(registration, row),
    created_at: isoTime(row.created_at),
    attempts,
  }
}

const withoutBody = (attempt: AttemptRecord): AttemptRecord => ({
  ...attempt,
  response_body: null,
})

/**
 * Rewrites filters by `state`. The column has no `paused`: a pending delivery of an inactive
 * registration is paused, and there is no pending one then.
 */
export function withStoredState(call: Call, { active }: Registration): Call {
  if (!call.query.entries.some(([name]) => /^state(\[|$)/.test(name))) return call
  const [present, absent] = active === 1 ? ['pending', 'paused'] : ['paused', 'pending']
  const storedState = (text: string) => {
    if (text === absent) return 'paused' // no row has it
    return text === present ? 'pending' : text
  }
  const entries = call.query.entries.map(([name, value]) =>
    /^state(\[|$)/.test(name)
      ? ([name, value.split(',').map(storedState).join(',')] as const)
      : ([name, value] as const),
  )
  return Object.create(call, { query: { value: new Query(entries) } }) as Call
}

export interface LoggedDelivery {
  readonly row: DeliveryRow
  readonly registration: Registration
}

/** Returns the delivery in the path. Throws 404, also for a type that the caller may not read. */
export async function deliveryAt(
  { types }: Pick<WebhookContext, 'types'>,
  call: Call,
  from: Reader,
): Promise<LoggedDelivery> {
  const { scope } = call.principal!
  const row = await findDelivery(from, scope, call.params.id!)
  const registration = row && (await registrationOf(from, { scope, no: row.webhook_no }))
  if (!row || !registration) throw new Failure('not_found')
  const readable = types.readableTypes(call.principal!)
  if (readable?.includes(row.event_type) === false) throw new Failure('not_found')
  return { row, registration }
}

/** Returns the JSON text of one delivery, with response bodies. */
export const deliveryText = ({ row, registration }: LoggedDelivery): string =>
  JSON.stringify(representationOf(registration, row, decodeAttempts(row.attempts)))
