/** Sample traffic for pictures and tests of the console: customers, keys, rejected requests. */
import { setTimeout as delay } from 'node:timers/promises'
import type { ConsoleStage } from './console-stage.ts'

export interface Traffic {
  /** Keys of the customer `Juniper & Day`, in live mode. */
  readonly reader: { readonly id: string; readonly key: string }
  readonly writer: { readonly id: string; readonly key: string }
  readonly customer: string
  /** The id of a person of the customer. */
  readonly user: number
  /** The id of an order that is paid. */
  readonly order: string
}

const NAMES = ['Juniper & Day', 'Brightmill Foods', 'Tideline Retail', 'Kestrel Logistics']
const ALL = ['orders:read', 'orders:write', 'users:read', 'users:write', 'webhooks:read']

type Stage = Pick<ConsoleStage, 'call' | 'json'>

async function createKey({ json }: Stage, customer: string, name: string, scopes = ALL) {
  const { id, key } = await json('POST', '/admin/keys', { name, customer, mode: 'live', scopes })
  return { id, key } as { id: string; key: string }
}

/** Sends requests that succeed, and others that each gate rejects. */
async function sendMix({ call }: Stage, { reader, writer, order }: Traffic): Promise<void> {
  const requests: readonly (readonly [
    method: string,
    path: string,
    body?: unknown,
    key?: string,
  ])[] = [
    ['GET', '/api/v2/orders?limit=50', undefined, writer.key],
    ['GET', `/api/v2/orders/${order}`, undefined, reader.key],
    ['GET', '/api/v1/orders?limit=10', undefined, writer.key],
    ['POST', `/api/v2/orders/${order}/pay`, undefined, reader.key],
    ['POST', `/api/v2/orders/${order}/pay`, undefined, writer.key],
    ['POST', '/api/v2/orders', { amount: 'much', currency: 'EURO' }, writer.key],
    ['GET', '/api/v2/orders/999999', undefined, reader.key],
    ['GET', '/api/v2/orders?state=paid', undefined, reader.key],
    ['GET', '/api/v2/users', undefined, 'gk_live_unknown'],
    ['GET', '/api/v9/orders', undefined, reader.key],
  ]
  for (const request of requests) await call(...request)
}

export async function sendTraffic(stage: Stage, rounds = 3): Promise<Traffic> {
  const { json, call } = stage
  const customers: string[] = []
  for (const name of NAMES) customers.push((await json('POST', '/admin/customers', { name })).id)
  const [customer] = customers as [string]
  const reader = await createKey(stage, customer, 'Mobile app', ['orders:read', 'users:read'])
  const writer = await createKey(stage, customer, 'Back office')
  const person = { name: 'Ada', email: 'ada@juniper.example' }
  const user = await json('POST', '/api/v2/users', person, writer.key)
  const fields = { user_id: user.id, amount: 1840, currency: 'EUR' }
  const order = await json('POST', '/api/v2/orders', fields, writer.key)
  const pay = `/api/v2/orders/${order.id}/pay`
  await json('POST', pay, undefined, writer.key)
  const traffic = { reader, writer, customer, user: user.id, order: String(order.id) }
  for (const other of customers.slice(1)) {
    const { key } = await createKey(stage, other, 'ERP sync')
    for (let n = 0; n < rounds * 5; n++) await call('GET', '/api/v2/orders', undefined, key)
  }
  for (let n = 0; n < rounds; n++) await sendMix(stage, traffic)
  return traffic
}

const STEP_S = 900
const STEPS = 96

/** Sends the traffic of a day, which needs `GATEHOOK_TEST_CLOCK`. The clock ends a day later. */
export async function sendDay(stage: Stage, url: string): Promise<Traffic> {
  const traffic = await sendTraffic(stage, 1)
  const { writer, reader } = traffic
  const hook = { url, events: ['order.*'] }
  await stage.json('POST', '/webhooks', hook, await hookKey(stage, traffic.customer))
  for (let step = 0; step < STEPS; step++) {
    const reads = Math.round(14 + 11 * Math.sin((step - 24) / 16))
    for (let n = 0; n < reads; n++) {
      const version = n % 7 === 0 ? 'v1' : 'v2'
      await stage.call('GET', `/api/${version}/orders?limit=5`, undefined, writer.key)
    }
    for (let n = 0; n < reads / 6; n++) {
      const fields = { user_id: traffic.user, amount: 900 + n, currency: 'EUR' }
      await stage.call('POST', '/api/v2/orders', fields, n % 5 === 4 ? reader.key : writer.key)
    }
    if (step % 12 === 6) await sendMix(stage, traffic)
    // Deliveries need real time.
    if (step % 4 === 0) await delay(60)
    await stage.json('POST', '/admin/clock', { advance_s: STEP_S })
  }
  await sendTraffic(stage, 2)
  return traffic
}

const hookKey = async (stage: Stage, customer: string): Promise<string> =>
  (await createKey(stage, customer, 'Warehouse', ['webhooks:write', 'orders:read'])).key
