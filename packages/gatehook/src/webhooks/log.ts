/** The delivery log as it is read (§9.10): lists, one delivery, who sees which. */

import {
  type AttemptRecord,
  decodeAttempts,
  deliveryState,
  type StoredState,
} from '../deliveries/delivery.ts'
import { readableTypes } from '../events/event-access.ts'
import type { Call } from '../http/call.ts'
import { Query } from '../http/query.ts'
import { Failure } from '../kernel/failure.ts'
import type { Scope } from '../kernel/principal.ts'
import { isoTime } from '../kernel/time.ts'
import type { Collection, View } from '../lists/collection.ts'
import type { Reader, Value } from '../storage/database.ts'
import { fixed } from '../storage/sql.ts'
import type { Registration } from './registration.ts'
import { registrationOf } from './registration-store.ts'
import type { Desk } from './registrations.ts'

/** `owner`: the registration whose log it is; that it is the caller's was asked before. */
export const deliveryList: Collection = {
  name: 'deliveries',
  table: 'gh_deliveries',
  columns: [
    { name: 'id', type: 'text' },
    { name: 'event_id', type: 'text' },
    { name: 'event_type', type: 'text' },
    {
      name: 'state',
      type: 'text',
      oneOf: ['pending', 'delivered', 'failed', 'exhausted', 'paused'],
    },
    { name: 'next_attempt_at', type: 'time', nullable: true },
    { name: 'created_at', type: 'time' },
    { name: 'attempts', type: 'json', nullable: true },
  ],
  integerId: false,
  scoped: false,
  owner: 'webhook_no',
  counted: false,
  filter: ['id', 'event_id', 'event_type', 'state', 'created_at'],
  sort: ['id'],
  indexes: [['webhook_no', 'id']],
  wide: true,
}

/** The part of a log whose types the caller may read (§9.14). Types are declared identifiers. */
export function deliveriesFor({ types }: Pick<Desk, 'types'>, call: Call): Collection {
  const readable = readableTypes(types, call.principal!)
  if (!readable) return deliveryList
  const names = readable.map((type) => `'${type}'`).join(', ')
  const condition = names === '' ? '1 = 0' : `event_type IN (${names})`
  const visible = { condition, columns: ['event_type'] }
  return { ...deliveryList, name: `deliveries ${readable.join(' ')}`, visible }
}

const withoutBody = (attempt: AttemptRecord): AttemptRecord => ({ ...attempt, response_body: null })

const FIELDS = [
  ...(['id', 'event_id', 'event_type', 'webhook_id', 'state', 'next_attempt_at'] as const),
  ...(['created_at', 'attempts'] as const),
]

/**
 * Deliveries of one registration; the state of pending ones depends on it. List items carry no
 * response bodies (§11.5): there `response_body` is null.
 */
export function deliveryView(
  registration: Registration | undefined,
  webhookId: string,
  { bodies }: { readonly bodies: boolean },
): View {
  const attemptsIn = (stored: string | null) =>
    bodies ? decodeAttempts(stored) : decodeAttempts(stored).map(withoutBody)
  const shown = (row: readonly Value[]): Record<string, unknown> => {
    const [id, event_id, event_type, stored, next, created_at, attempts] = row
    const state = deliveryState(stored as StoredState, registration)
    return {
      id,
      event_id,
      event_type,
      webhook_id: webhookId,
      state,
      next_attempt_at: state === 'pending' && next !== null ? isoTime(next as number) : null,
      created_at: isoTime(created_at as number),
      attempts: attemptsIn(attempts as string | null),
    }
  }
  return {
    fields: FIELDS,
    item(row, { fields, links }) {
      const all = shown(row)
      const body = fields
        ? Object.fromEntries(Object.entries(all).filter(([name]) => fields.has(name)))
        : all
      if (links) body._links = { self: `/deliveries/${all.id}`, event: `/events/${all.event_id}` }
      return JSON.stringify(body)
    },
  }
}

/**
 * `paused` is not stored: it is what pending is where the registration is not active. So a filter
 * by either asks for the one that is stored, or for nothing.
 */
export function withStoredState(call: Call, { active }: Registration): Call {
  if (!call.query.entries.some(([name]) => /^state(\[|$)/.test(name))) return call
  const [shows, hides] = active === 1 ? ['pending', 'paused'] : ['paused', 'pending']
  const stored = (text: string) => {
    if (text === hides) return 'paused'
    return text === shows ? 'pending' : text
  }
  const entries = call.query.entries.map(([name, value]) =>
    /^state(\[|$)/.test(name)
      ? ([name, value.split(',').map(stored).join(',')] as const)
      : ([name, value] as const),
  )
  return Object.create(call, { query: { value: new Query(entries) } }) as Call
}

const CELLS = deliveryList.columns.map((column) => column.name).join(', ')
const byId = fixed(`SELECT ${CELLS}, webhook_no, no FROM gh_deliveries WHERE scope = ? AND id = ?`)

export interface Found {
  readonly cells: readonly Value[]
  readonly no: number
  readonly registration: Registration
}

const TYPE = deliveryList.columns.findIndex((column) => column.name === 'event_type')

/** A delivery whose type the caller may read. Throws 404. */
export async function deliveryAt(desk: Desk, call: Call, from: Reader): Promise<Found> {
  const scope: Scope = call.principal!.scope
  const [cells] = await from.arrays(byId([scope, call.params.id]))
  const [webhookNo, no] = (cells?.slice(-2) ?? []) as number[]
  const registration = cells && (await registrationOf(from, webhookNo!))
  const hidden = readableTypes(desk.types, call.principal!)?.includes(cells?.[TYPE] as string)
  if (!cells || !registration || hidden === false) {
    throw new Failure('not_found')
  }
  return { cells, no: no!, registration }
}

export const shownDelivery = ({ cells, registration }: Found): string =>
  deliveryView(registration, registration.id, { bodies: true }).item(cells, {})
