/**
 * §11.5: the databases share writers and connections fairly by customer. So every request names its
 * customer in each transaction and snapshot that it opens, and the customer and mode of its events:
 * feeds of others do not wait for it.
 */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { collectEvents, collectorOf } from '../../src/history/events/collector.ts'
import { scopeOf } from '../../src/kernel/principal.ts'

const access = { read: 'x:read', create: 'x:write', update: 'x:write', delete: 'x:write' } as const
const things = resource('things', {
  fields: { id: f.id(), name: f.string().max(100), n: f.int().default(0) },
  list: { filter: ['n'], sort: ['n'] },
  ...{ access, batch: true, softDelete: true, search: ['name'] },
  events: ['thing.created', 'thing.updated', 'thing.deleted'],
}).action('mark', { scope: 'x:write', run: () => ({ n: 7 }) })
const ruled = resource('ruled', {
  fields: { id: f.id(), n: f.int().default(0) },
  ...{ list: { filter: [], sort: [] }, access, events: [] },
}).rule('create', async ({ tx }) => {
  await tx.create(things, { name: 'of a rule' })
})
const shop = service({
  name: 'shop',
  versions: { v1: { released: '2026-01-01' } },
  resources: [things, ruled],
  externalEvents: ['payment.succeeded'],
}).route({
  method: 'POST',
  path: '/move',
  scope: 'x:write',
  summary: 'Writes by own code.',
  handle: async ({ write }) => {
    await write((tx) => tx.create(things, { name: 'of a route' }))
  },
})

type Send = (app: TestApp, headers: Record<string, string>) => Promise<{ readonly status: number }>
const sends =
  (method: string, path: string, body?: unknown): Send =>
  (app, headers) =>
    app.send(method, path, body, headers)

const changes: readonly Send[] = [
  sends('POST', '/api/v1/things', { name: 'one two' }),
  sends('PATCH', '/api/v1/things/1', { n: 3 }),
  sends('POST', '/api/v1/things/1/mark', {}),
  sends('POST', '/api/v1/things/batch', { items: [{ name: 'a' }, { name: 'b' }] }),
  sends('POST', '/api/v1/ruled', {}),
  sends('POST', '/api/v1/move'),
  sends('DELETE', '/api/v1/things/1'),
  sends('POST', '/api/v1/things/1/restore'),
]
const external = sends('POST', '/events', { type: 'payment.succeeded', object: {} })
const lists = [
  ...['limit=2', 'page=1', 'page=2&per_page=1', 'offset=0', 'after_id=0', 'pagination=hypermedia'],
  ...['q=of', 'sort=-n', 'n[gte]=0&sort=n', 'n=7&sort=-n&page=1', 'deleted=true'],
].map((query) => `/api/v1/things?${query}`)

eachService(
  'changes and lists name the customer of the request, with and without an idempotency key',
  async (app) => {
    const { db } = app.app
    const { write, snapshot, longRead } = db
    // Background work of the engine names none.
    const inRequest = new AsyncLocalStorage<unknown[]>()
    db.write = (change, options) => {
      const customers = inRequest.getStore()
      if (!customers) return write(change, options)
      customers.push(options?.customer)
      return write(async (tx) => {
        collectEvents(tx)
        const result = await change(tx)
        for (const event of collectorOf(tx)!) assert.equal(options?.scope, event.scope, event.type)
        return result
      }, options)
    }
    db.snapshot = (read, options) => {
      inRequest.getStore()?.push(options?.customer)
      return snapshot(read, options)
    }
    db.longRead = (customer, read) => {
      inRequest.getStore()?.push(customer)
      return longRead(customer, read)
    }
    await app.get('/api/v1/things') // stores when the key was used
    const requireNamed = async (send: Send, headers: Record<string, string>, opens: boolean) => {
      const customers: unknown[] = []
      const { status } = await inRequest.run(customers, () => send(app, headers))
      assert.ok(status < 300, `${status} ${JSON.stringify(headers)}`)
      assert.ok(!opens || customers.length > 0, JSON.stringify(headers))
      for (const customer of customers) assert.equal(customer, `scope:${scopeOf(1, 'test')}`)
    }
    for (const [n, change] of [...changes, external].entries()) {
      await requireNamed(change, {}, true)
      if (change !== external && n < 6) {
        await requireNamed(change, { prefer: 'dry-run' }, true)
        await requireNamed(change, { 'idempotency-key': `key-${n}` }, true)
      }
    }
    for (const path of lists) await requireNamed(sends('GET', path), {}, false)
    const { body } = await app.get('/api/v1/things?limit=2')
    const next = await app.get(`/api/v1/things?limit=2&cursor=${body.next_cursor}`)
    const backward = `/api/v1/things?limit=2&cursor=${next.body.cursors.prev}`
    await requireNamed(sends('GET', backward), {}, app.app.db.name === 'postgres')
  },
  { service: shop },
)
