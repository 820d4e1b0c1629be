/**
 * Every statement of the request and delivery paths on PostgreSQL that uses a table distributed by
 * scope is bound to one scope, as PostgreSQL's parser reads it and as its plan seeks. Requests go
 * through the whole app, deliveries through the engine; the test reads what the driver sends. Below
 * are the tables in which statements find a scope. `scope-inventory.test.ts` reads the source.
 */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { after, before, type TestContext, test } from 'node:test'
import { loadModule } from 'libpg-query'
import pg from 'pg'
import { quietLog } from '../../../../test/rig/databases.ts'
import { findUnboundScans } from '../../../../test/rig/plan-binding.ts'
import { queryAsAdmin } from '../../../../test/rig/postgres.ts'
import { readScopeBinding } from '../../../../test/rig/scope-binding.ts'
import { openService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import { marketplace } from '../../examples/marketplace/service.ts'
import { engineTables } from '../../src/engine-tables.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { DeliveryEngine } from '../../src/outbound/deliveries/engine.ts'
import { engineStore } from '../../src/outbound/deliveries/engine-store.ts'
import { shop } from '../fixtures/shop.ts'
import { basicOf, emailOf, openPeople, PASSWORD } from '../people/rig.ts'
import { type Hook, LOCAL, openHook, register } from '../webhooks/hook.ts'

type Path = 'request' | 'delivery'

/**
 * Tables in which a statement may find its scope: its other tables must equal it. All other
 * statements have `scope = $n`.
 */
const ROOTS: Readonly<Record<Path, Readonly<Record<string, string>>>> = {
  request: {
    gh_deliveries: 'the log of a registration, which the request has found by its scope',
    gh_events: 'the same log: deliveries that wait in their events',
  },
  delivery: {
    gh_deliveries: 'due deliveries of all customers by time, and their results by scope and id',
    gh_events: 'registrations of all customers whose deliveries wait in their events',
    gh_webhooks: 'the registration of a delivery by its number, and those that fail for days',
  },
}

const paths = new AsyncLocalStorage<Path>()
type Sent = Readonly<Record<Path, Set<string>>>
let sent: Sent = { request: new Set(), delivery: new Set() }
const { query } = pg.Client.prototype

/** Reads the texts of a query, or of several that share a round trip. */
function readTexts(query: unknown): readonly string[] {
  if (typeof query === 'string') return [query]
  const { text, texts } = query as { text?: string; texts?: readonly string[] }
  return texts ?? (text ? [text] : [])
}

before(async () => {
  await loadModule()
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const path = paths.getStore()
    if (path) for (const text of readTexts(args[0])) sent[path].add(text)
    return Reflect.apply(query, this, args)
  } as typeof query
})
after(() => {
  pg.Client.prototype.query = query
})

const TABLES = `SELECT c.relname AS name, EXISTS (SELECT 1 FROM pg_attribute
    WHERE attrelid = c.oid AND attname = 'scope') AS "hasScope"
  FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace
    AND c.relkind IN ('r', 'p') AND NOT c.relispartition`

/** Without rows, the plan reads all registrations. These are copies of one in other scopes. */
const ADD_REGISTRATIONS = `INSERT INTO gh_webhooks
  SELECT (jsonb_populate_record(w, jsonb_build_object('no', n, 'id', w.id || n, 'scope', n))).*
  FROM gh_webhooks w CROSS JOIN generate_series(1000, 6000) AS n`

interface StoredTable {
  readonly name: string
  readonly hasScope: boolean
}

const readTables = async ({ url }: TestApp): Promise<StoredTable[]> =>
  (await queryAsAdmin(url, TABLES)).map(({ name, hasScope }) => ({ name, hasScope }))

/** The tables of resources, and the indexes of their words. */
const isOfResource = (name: string): boolean => !/^gh_(?!words_)/.test(name)

const placeOf = (table: string) => engineTables.find(({ name }) => name === table)?.place

test('every table of the engine is declared, and a scope if it is distributed', async (t) => {
  const tables = await readTables(await openService(t, 'postgres', { service: marketplace }))
  const own = tables.filter(({ name }) => !isOfResource(name))
  assert.deepEqual(
    own.filter(({ name }) => !placeOf(name)).map(({ name }) => name),
    [],
    'tables that no module declares',
  )
  const scopes = own.filter(({ name, hasScope }) => placeOf(name) === 'scope' && !hasScope)
  assert.deepEqual(scopes, [])
})

test('statements of requests and deliveries are bound to one scope', async (t) => {
  const service = await openService(t, 'postgres', { service: marketplace, ...LOCAL })
  const hook = await openHook(t)
  const sent = await collectSent(async () => {
    await sendRequests(service, hook)
    await deliver(service)
  })
  assert.ok(sent.request.size > 50, `${sent.request.size} statements of requests`)
  assert.ok(sent.delivery.size > 3, `${sent.delivery.size} statements of deliveries`)
  await assertBound(service, sent, t)
})

test('statements of a person who owns rows through others are bound to one scope', async (t) => {
  const service = await openService(t, 'postgres', { service: shop })
  const sent = await collectSent(() => sendRequestsOfPerson(service))
  assert.ok(sent.request.size > 20, `${sent.request.size} statements of requests`)
  await assertBound(service, sent, t)
})

/** Returns the texts that the driver sends meanwhile, by the path that sends them. */
async function collectSent(sending: () => Promise<void>): Promise<Sent> {
  sent = { request: new Set(), delivery: new Set() }
  await sending()
  return sent
}

async function assertBound(service: TestApp, sent: Sent, t: TestContext): Promise<void> {
  const tables = await readTables(service)
  const isDistributed = ({ name, hasScope }: StoredTable) =>
    isOfResource(name) ? hasScope : placeOf(name) === 'scope'
  const scoped = new Set(tables.filter(isDistributed).map(({ name }) => name))
  const unbound: string[] = []
  const unscoped = new Set<string>()
  for (const path of ['request', 'delivery'] as const) {
    for (const text of sent[path]) {
      const binding = readScopeBinding(text, scoped, Object.keys(ROOTS[path]))
      for (const table of binding.tables) if (!scoped.has(table)) unscoped.add(table)
      if (binding.unbound.length > 0) unbound.push(`${path}, ${binding.unbound}: ${text}`)
    }
  }
  t.diagnostic(`tables that are not distributed: ${[...unscoped].sort().join(', ')}`)
  assert.deepEqual(unbound, [])
  await queryAsAdmin(service.url, ADD_REGISTRATIONS)
  await queryAsAdmin(service.url, 'ANALYZE gh_webhooks')
  const scans: string[] = []
  for (const path of ['request', 'delivery'] as const) {
    const ports = { url: service.url, texts: [...sent[path]] }
    scans.push(...(await findUnboundScans(ports, scoped, Object.keys(ROOTS[path]))))
  }
  assert.deepEqual(scans, [])
}

test('a plan that reads rows of all scopes, or all rows of one, is reported', async (t) => {
  const { url } = await openService(t, 'postgres', { service: marketplace })
  const texts = [
    'SELECT id FROM gh_events WHERE scope = $1 AND id >= $2 AND id <= $2 ORDER BY id LIMIT 1',
    'SELECT id FROM gh_deliveries WHERE webhook_no = $1',
    'SELECT id FROM gh_events WHERE scope = $1 AND id = $2',
    'SELECT id FROM gh_deliveries WHERE created_at = $1',
    'UPDATE gh_webhooks SET url = $1 WHERE no = $2',
  ]
  const scoped = new Set(['gh_events', 'gh_deliveries', 'gh_webhooks'])
  const lines = await findUnboundScans({ url, texts }, scoped, ['gh_deliveries'])
  assert.deepEqual(
    texts.filter((text) => lines.some((line) => line.endsWith(text))),
    texts.slice(2),
  )
})

async function sendRequests(service: TestApp, hook: Hook): Promise<void> {
  const send = async (expected: number, sending: () => Promise<Reply>): Promise<Reply> => {
    const reply = await paths.run('request', sending)
    assert.equal(reply.status, expected, reply.text)
    return reply
  }
  const post = (path: string, body: unknown, headers?: Record<string, string>, status = 201) =>
    send(status, () => service.post(path, body, headers))
  const get = (path: string) => send(200, () => service.get(path))
  const seller = { name: 'A', email: 'a@example.com' }
  const { body: owner } = await post('/api/v1/sellers', seller, { 'idempotency-key': 'one' })
  await post('/api/v1/sellers', seller, { 'idempotency-key': 'one' })
  const { body: webhook } = await send(201, () => register(service, hook))
  const product = { seller_id: owner.id, title: 'Chair', price: '10.00', stock: 9 }
  const { body: chair } = await post('/api/v1/products', product)
  await post('/api/v1/products/batch', { items: [product, product] }, {}, 200)
  const lines = [{ product_id: chair.id, quantity: 1 }]
  const { body: order } = await post('/api/v1/orders', { buyer: 'b@example.com', lines })
  // No provider runs: the statements are those up to the call, and of the failed attempt.
  const payment = { source: 'card' }
  await post(`/api/v1/orders/${order.id}/payments`, payment, { 'idempotency-key': 'pay' }, 503)
  await send(200, () => service.patch(`/api/v1/products/${chair.id}`, { stock: 5 }))
  for (const path of [
    `/api/v1/products/${chair.id}?expand=seller`,
    '/api/v1/products?limit=1&expand=seller',
    '/api/v1/products?q=chair',
    '/api/v1/products?sort=-price&offset=1&limit=1',
    '/api/v1/products?page=1&stock[gt]=1',
    '/api/v1/products?after_id=1',
    '/api/v1/orders?status=paid',
    '/events',
    '/events?type=order.paid',
    '/webhooks',
    `/webhooks/${webhook.id}`,
    `/webhooks/${webhook.id}/deliveries`,
    `/webhooks/${webhook.id}/deliveries?state=pending`,
  ]) {
    const { body } = await get(path)
    if (body.next_cursor) {
      await get(`${path}${path.includes('?') ? '&' : '?'}cursor=${body.next_cursor}`)
    }
  }
  const { body: last } = await post('/api/v1/products', product)
  await send(204, () => service.delete(`/api/v1/products/${last.id}`))
}

/** A person creates, lists and changes rows that belong to it through other rows. */
async function sendRequestsOfPerson(service: TestApp): Promise<void> {
  const { operator, anonymous } = await openPeople(service)
  const scopes = ['carts', 'items', 'remarks'].flatMap((name) => [`${name}:read`, `${name}:write`])
  const account = { email: emailOf('ada'), password: PASSWORD, mode: 'test', scopes }
  const { body: ada } = await operator.post('/admin/users', account)
  const headers = basicOf(emailOf('ada'))
  const send = async (expected: number, method: string, path: string, body?: unknown) => {
    const reply = await paths.run('request', () =>
      anonymous.send(method, `/api/v2/${path}`, body, headers),
    )
    assert.equal(reply.status, expected, reply.text)
    return reply.body
  }
  const cart = await send(201, 'POST', 'carts', { member_id: ada.id })
  const item = await send(201, 'POST', 'items', { cart_id: cart.id, title: 'a' })
  const remark = await send(201, 'POST', 'remarks', { item_id: item.id, text: 'x' })
  for (const style of ['cursor', 'keyset', 'offset', 'page', 'hypermedia']) {
    for (const name of ['carts', 'items', 'remarks']) {
      await send(200, 'GET', `${name}?pagination=${style}`)
    }
  }
  await send(200, 'GET', `remarks/${remark.id}`)
  await send(200, 'PATCH', `remarks/${remark.id}`, { text: 'y' })
  await send(204, 'DELETE', `remarks/${remark.id}`)
}

/** Delivers what the requests caused with an engine in this thread. */
async function deliver({ app }: TestApp): Promise<void> {
  const vault = new Vault('a secret that only tests know, long enough', systemRandom())
  const { db, administration } = app
  let elapsedMs = 0
  let posts = 0
  const clock = { now: administration.clock.now, elapsedMs: () => elapsedMs }
  const engine = new DeliveryEngine({
    store: engineStore({
      db,
      clock,
      vault,
      log: quietLog,
      record: () => Promise.reject(new Error('no registration is disabled here')),
      coveredBy: () => undefined,
    }),
    leases: {
      isAlive: true,
      generation: 0,
      holds: () => true,
      take: async () => {},
    },
    async post() {
      posts++
      return { kind: 'answered', status: 200, headers: {}, body: '', durationMs: 1 }
    },
    clock,
    chance: () => 0,
    log: quietLog,
    scheduleS: [60],
    rate: undefined,
  })
  for (let n = 0; n < 4; n++) {
    elapsedMs += 1_000
    await paths.run('delivery', () => engine.tick())
  }
  assert.ok(posts > 0, 'the engine delivers')
}
