/**
 * §15.6: `kill -9` before, inside and after each step of requests and jobs. Another process
 * finishes them; no step whose result is stored runs again, and the provider charges once.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl, type Kind } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { jsonOf, type Place } from '../cli/command.ts'
import { serving } from '../cli/process.ts'

const GATEHOOK = JSON.stringify(new URL('../../src/gatehook.ts', import.meta.url).href)
/** Each order stops the process that has `STALLS` at the place of its name. */
const SERVICE = `
import { f, job, resource, service } from ${GATEHOOK}
const { STALLS, PROVIDER } = process.env
const access = { read: 'r', create: 'w', update: 'w', delete: false }
const orders = resource('orders', {
  fields: { id: f.id(), place: f.string(), reserved: f.int().default(0), paid: f.int().default(0) },
  list: { filter: ['place'], sort: ['id'] },
  access,
  events: ['order.created'],
})
const settle = job('settle', { order_id: f.int() })
const charge = (id, { key, fetch }) =>
  fetch(PROVIDER + '/charges/' + id, { method: 'POST', headers: { 'idempotency-key': key } })
    .then((response) => response.json())
async function reach(order, place) {
  if (!STALLS || order.place !== place) return
  await fetch(PROVIDER + '/reached/' + order.id, { method: 'POST' })
  await new Promise(() => {})
}
async function pay(id, { load, step, write }) {
  const order = await load()
  await reach(order, 'before')
  await write('reserve', async (tx) => {
    const { reserved } = await tx.lock(orders, id)
    if (STALLS && order.place === 'in reserve') process.kill(process.pid, 'SIGKILL')
    return tx.update(orders, id, { reserved: reserved + 1 })
  })
  await reach(order, 'after reserve')
  await step('charge', async (effect) => {
    const charged = await charge(id, effect)
    await reach(order, 'in charge')
    return charged
  })
  await reach(order, 'after charge')
  await write('book', async (tx) => {
    const { paid } = await tx.lock(orders, id)
    return tx.update(orders, id, { paid: paid + 1 })
  })
  await reach(order, 'after book')
}
export default service({
  name: 'shop',
  versions: { v1: { released: '2026-01-01' } },
  resources: [orders],
})
  .route({
    method: 'POST',
    path: '/orders/:id/pay',
    scope: 'w',
    summary: 'Pay',
    steps: true,
    timeoutMs: 60_000,
    output: orders,
    async handle({ params, read, step, write }) {
      const id = Number(params.id)
      await pay(id, { load: () => read('order', (r) => r.get(orders, id)), step, write })
      return { body: await read('paid', (r) => r.get(orders, id)) }
    },
  })
  .on(orders, 'order.created', ({ event, write }) =>
    write((tx) => event.data.object.place.startsWith('job ') &&
      tx.enqueue(settle, { order_id: event.data.object.id })))
  .job(settle, async ({ input: { order_id: id }, read, step, write }) => {
    const load = async () => {
      const { place } = await read.get(orders, id)
      return { id, place: place.slice(4) }
    }
    await pay(id, { load, step, write })
  })
`

const PLACES = ['before', 'asked', 'in charge', 'after reserve', 'after charge', 'after book']
/** The places after which the provider receives a second request with the same key. */
const ASKED_TWICE = ['asked', 'in charge']

/** A provider that charges once for each key; some orders get no response to the first request. */
async function startProvider(t: TestContext) {
  const requests = new Map<string, string[]>()
  const reached = new Set<string>()
  const silent = new Set<string>()
  const server = createServer(({ url = '', headers }, response) => {
    const [, kind, id = ''] = url.split('/')
    if (kind === 'reached') {
      reached.add(id)
      return void response.end()
    }
    requests.set(id, [...(requests.get(id) ?? []), String(headers['idempotency-key'])])
    if (silent.delete(id)) return void reached.add(id)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ id: `ch_${id}` }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onEnd(t, () => server.close())
  onEnd(t, () => server.closeAllConnections())
  const { port } = server.address() as AddressInfo
  return { requests, reached, silent, url: `http://127.0.0.1:${port}` }
}

type Reply = { readonly status: number; readonly body: Record<string, unknown> }

async function killNode(t: TestContext, kind: Kind): Promise<void> {
  const cwd = emptyFolder(t)
  writeFileSync(join(cwd, 'service.ts'), SERVICE)
  const provider = await startProvider(t)
  const env = {
    GATEHOOK_DATABASE_URL: await freshUrl(t, kind),
    GATEHOOK_RATE_LIMIT: '0', // the test polls
    GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
    GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
    PROVIDER: provider.url,
  }
  const place: Place = { cwd, env }
  const stalling: Place = { cwd, env: { ...env, STALLS: '1' } }
  await jsonOf(place, 'migrate')
  const { key } = await jsonOf(place, 'keys', 'create', '--name', 'a', '--scopes', 'r,w,admin')
  const send = async (url: string, path: string, body?: unknown): Promise<Reply> => {
    const response = await fetch(url + path, {
      headers: { 'x-api-key': key, 'content-type': 'application/json', 'idempotency-key': path },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as Reply['body'] }
  }
  const first = await serving(t, stalling, '--no-seed')
  const create = async (at: string): Promise<string> => {
    const response = await fetch(`${first.url}/api/v1/orders`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ place: at }),
    })
    return String(((await response.json()) as Reply['body']).id)
  }
  const orders = new Map<string, string>()
  for (const at of [...PLACES, 'job after charge', 'abandoned']) {
    const id = await create(at === 'abandoned' ? 'after charge' : at)
    orders.set(at, id)
    if (at === 'asked') provider.silent.add(id)
    if (!at.startsWith('job')) send(first.url, `/api/v1/orders/${id}/pay`, {}).catch(() => {})
  }
  const isReached = async () => [...orders.values()].every((id) => provider.reached.has(id))
  await eventually(isReached, Boolean)
  // On PostgreSQL another node serves meanwhile.
  const other = kind === 'postgres' ? await serving(t, place, '--no-seed') : undefined
  const id = await create('in reserve')
  orders.set('in reserve', id)
  send(first.url, `/api/v1/orders/${id}/pay`, {}).catch(() => {})
  await first.ended
  const { url } = other ?? (await serving(t, place, '--no-seed'))

  for (const at of [...PLACES, 'in reserve']) {
    const path = `/api/v1/orders/${orders.get(at)}/pay`
    // Each repeat waits up to 25 s.
    const isPaid = ({ status }: Reply) => status === 200
    const { body } = await eventually(() => send(url, path, {}), isPaid)
    assert.deepEqual([body.reserved, body.paid], [1, 1], at)
  }
  for (const [at, id] of orders) {
    const isPaid = ({ body }: Reply) => body.paid === 1
    const { body } = await eventually(() => send(url, `/api/v1/orders/${id}`), isPaid)
    assert.equal(body.reserved, 1, at)
    const keys = provider.requests.get(id)!
    assert.deepEqual([at, keys.length], [at, ASKED_TWICE.includes(at) ? 2 : 1])
    assert.equal(new Set(keys).size, 1, at)
  }
}

for (const kind of ['sqlite', 'postgres'] as const satisfies readonly Kind[]) {
  test(`kill -9 at each place of a step repeats no effect [${kind}]`, (t) => killNode(t, kind))
}
