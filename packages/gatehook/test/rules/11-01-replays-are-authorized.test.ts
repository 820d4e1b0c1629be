/**
 * §11.1: a stored response is returned only as far as the caller is authorized now. No path replays
 * a field or a row that the caller has lost since.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { eachService, openService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { createConsoleLink, createOperator } from '../../src/identity/people/operators.ts'
import { basicOf, emailOf, openPeople, PASSWORD } from '../people/rig.ts'
import { cookieOf } from '../portal/rig.ts'
import { openHook } from '../webhooks/hook.ts'

const cards = resource('cards', {
  fields: {
    id: f.id(),
    name: f.string().max(20),
    quota: f.int().default(4242).visible('limits:read'),
    status: f.oneOf(['open', 'shut']).default('open').readonly(),
  },
  list: { filter: [], sort: [] },
  access: {
    read: 'cards:read',
    create: 'cards:write',
    update: 'cards:write',
    delete: 'cards:write',
  },
  events: ['card.created'],
  batch: true,
  softDelete: { scope: 'cards:write' },
})
  .action('shut', { scope: 'cards:write', from: ['open'], to: 'shut', emits: 'card.shut' })
  .before('v2', {
    why: 'Names are shorter.',
    had: { bound: f.int().default(4242).visible('limits:read') },
    hadNot: ['quota'],
    up: ({ bound }) => ({ quota: bound }),
    down: ({ quota }) => ({ bound: quota }),
  })
const bank = {
  service: service({
    name: 'bank',
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
    resources: [cards],
  }).route({
    method: 'POST',
    path: '/copies',
    scope: 'cards:write',
    summary: 'Copy a card',
    output: { quota: f.int() },
    status: 201,
    handle: async ({ write }) => {
      const row = await write((tx) => tx.create(cards, { name: 'copy' }))
      return { body: { quota: row.quota } }
    },
  }),
  env: { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' },
}

const WIDE = ['cards:read', 'cards:write', 'limits:read', 'webhooks:read', 'webhooks:write']
const isReplay = ({ headers }: Reply) => headers['idempotent-replayed'] === 'true'

/** Returns a caller with every scope, and a function that takes one away from it. */
async function openNarrowed(app: TestApp, scopes: readonly string[]) {
  const admin = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
  const created = await admin.post('/admin/keys', { name: 'k', scopes: WIDE, mode: 'test' })
  const narrow = async () => {
    const reply = await admin.patch(`/admin/keys/${created.body.id}`, { scopes })
    assert.equal(reply.status, 200, reply.text)
  }
  return { caller: app.as(created.body.key), narrow }
}

eachService(
  'a replay has no field that the caller does not see any more, in any write',
  async (app) => {
    const { caller, narrow } = await openNarrowed(app, ['cards:read', 'cards:write'])
    const idOf = async () => (await app.post('/api/v2/cards', { name: 'a' })).body.id
    const [changed, shut, deleted] = [await idOf(), await idOf(), await idOf()]
    await app.delete(`/api/v2/cards/${deleted}`)
    const writes: [string, string, object?][] = [
      ['POST', '/api/v2/cards', { name: 'b' }],
      ['POST', '/api/v1/cards', { name: 'c' }],
      ['PATCH', `/api/v2/cards/${changed}`, { name: 'd' }],
      ['POST', `/api/v2/cards/${shut}/shut`],
      ['POST', `/api/v2/cards/${deleted}/restore`],
      ['POST', '/api/v2/cards/batch', { items: [{ name: 'e' }, { name: 7 }], atomic: false }],
      ['POST', '/api/v1/cards/batch', { items: [{ name: 'f' }] }],
    ]
    const send = ([method, path, body]: (typeof writes)[number], key: string) =>
      caller.send(method, path, body, { 'idempotency-key': key })
    const first = []
    for (const [at, write] of writes.entries()) first.push(await send(write, `k${at}`))
    const same = await send(writes[0]!, 'k0')
    assert.deepEqual([same.text, isReplay(same)], [first[0]!.text, true])
    await narrow()
    for (const [at, write] of writes.entries()) {
      assert.match(first[at]!.text, /4242/, 'the first response has the field')
      const replay = await send(write, `k${at}`)
      assert.deepEqual([replay.status, isReplay(replay)], [first[at]!.status, true])
      assert.ok(!replay.text.includes('4242'), `${write[1]}: ${replay.text}`)
      const firstName: string = first[at]!.body.name ?? first[at]!.body.items[0].body.name
      assert.equal(replay.body.name ?? replay.body.items[0].body.name, firstName)
    }
    const replay = await send(writes[0]!, 'k0')
    const { headers } = await caller.get(replay.headers.location!)
    assert.equal(replay.headers.etag, headers.etag, 'the tag is that of the row as it is read')
  },
  bank,
)

eachService(
  'own routes and the engine return no stored response to a caller with fewer scopes',
  async (app, t) => {
    const hook = await openHook(t)
    const { caller, narrow } = await openNarrowed(app, ['cards:write', 'webhooks:write'])
    const writes: [string, object][] = [
      ['/api/v2/copies', {}],
      ['/webhooks', { url: hook.url, events: ['card.created'] }],
    ]
    const send = ([path, body]: (typeof writes)[number]) =>
      caller.post(path, body, { 'idempotency-key': 'k' })
    for (const write of writes) assert.equal((await send(write)).status, 201)
    for (const write of writes) assert.ok(isReplay(await send(write)))
    await narrow()
    for (const write of writes) {
      const replay = await send(write)
      assert.deepEqual([replay.status, replay.body.error], [403, 'insufficient_scope'])
    }
    assert.equal((await app.get('/api/v2/cards?pagination=page')).body.total, 1)
  },
  bank,
)

eachService(
  'a replay without the scope of the operation is 403',
  async (app) => {
    const { caller, narrow } = await openNarrowed(app, ['cards:read'])
    const send = () => caller.post('/api/v2/cards', { name: 'a' }, { 'idempotency-key': 'k' })
    assert.equal((await send()).status, 201)
    await narrow()
    const replay = await send()
    assert.deepEqual([replay.status, replay.body.error], [403, 'insufficient_scope'])
  },
  bank,
)

eachService('a person who lost the scope over all rows gets no row of others', async (app) => {
  const { anonymous, operator, createPerson } = await openPeople(app)
  const [ada, bob] = [await createPerson('ada'), await createPerson('bob')]
  const scopes = ['orders:read', 'orders:write']
  const widened = await operator.patch(`/admin/users/${ada.id}`, {
    scopes: [...scopes, 'orders:all', 'users:all'],
  })
  assert.equal(widened.status, 200, widened.text)
  const send = async (user_id: number, key: string) => {
    const headers = { ...basicOf(emailOf('ada')), 'idempotency-key': key }
    return anonymous.post('/api/v2/orders', { user_id, amount: 5 }, headers)
  }
  const first = [await send(bob.id, 'b'), await send(ada.id, 'a')]
  assert.deepEqual(
    first.map(({ status }) => status),
    [201, 201],
  )
  await operator.patch(`/admin/users/${ada.id}`, { scopes })
  const replays = [await send(bob.id, 'b'), await send(ada.id, 'a')]
  assert.deepEqual(
    replays.map(({ status }) => status),
    [404, 201],
  )
  assert.deepEqual(replays[1]!.body, first[1]!.body)
})

eachService(
  'a replay needs the role of the first request',
  async (app, t) => {
    const admin = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
    const hook = await openHook(t)
    const cli = { kind: 'cli', id: 'test' } as const
    const { administration, hasher } = app.app
    const input = { email: emailOf('op'), password: PASSWORD, role: 'administrator' } as const
    const { id, email } = await createOperator(administration, hasher, input, cli)
    const anonymous = app.as(undefined)
    const signIn = async () => {
      const { path } = await createConsoleLink(administration, email, cli)
      const reply = await anonymous.post('/console/session', { token: path.split('#token=')[1] })
      return { cookie: cookieOf(reply), 'x-gatehook-console': '1' }
    }
    const strong = (await admin.post('/admin/keys', { name: 'k', scopes: ['admin'] })).body
    const weak = (await admin.post('/admin/keys', { name: 'k', scopes: ['orders:read'] })).body
    const writes: readonly (readonly [method: string, path: string, body: object])[] = [
      ['POST', '/admin/keys', { name: 'k', scopes: ['admin'] }],
      ['POST', `/admin/keys/${strong.id}/roll`, {}],
      ['PATCH', `/admin/keys/${strong.id}`, { name: 'l' }],
      ['POST', `/admin/keys/${weak.id}/roll`, {}],
      ['POST', '/admin/as/default/live/webhooks', { url: hook.url, events: ['order.created'] }],
    ]
    const send = async (session: Record<string, string>) => {
      const replies: Reply[] = []
      for (const [at, [method, path, body]] of writes.entries()) {
        const headers = { ...session, 'idempotency-key': `k${at}` }
        replies.push(await anonymous.send(method, path, body, headers))
      }
      return replies
    }
    const first = await send(await signIn())
    for (const { status, text } of first) assert.ok(status < 300, text)
    const become = (role: string) => admin.patch(`/admin/operators/${id}`, { role })
    assert.equal((await become('support')).status, 200)
    for (const [at, { status, body, text }] of (await send(await signIn())).entries()) {
      assert.deepEqual([status, body.error], [403, 'insufficient_role'], writes[at]!.join(' '))
      assert.ok(!text.includes('gk_live_'))
    }
    assert.equal((await become('administrator')).status, 200)
    for (const [at, reply] of (await send(await signIn())).entries()) {
      assert.deepEqual([reply.text, isReplay(reply)], [first[at]!.text, true])
    }
  },
  { env: bank.env },
)

const margin = f.int().default(7)
/** Later declarations of the field, and a scope with which responses have it, if there is one. */
const LIMITED: readonly (readonly [string, typeof margin, scope?: string])[] = [
  ['visible', margin.visible('margins:read') as unknown as typeof margin, 'margins:read'],
  ['writeOnly', margin.writeOnly() as unknown as typeof margin],
]

const serviceWith = (field: typeof margin) => {
  const bills = resource('bills', {
    fields: { id: f.id(), name: f.string(), margin: field },
    list: { filter: [], sort: [] },
    access: { read: 'bills:read', create: 'bills:write', update: false, delete: false },
    events: [],
  })
  const copy = {
    method: 'POST',
    scope: 'bills:write',
    summary: 'Copy a bill',
    status: 201,
  } as const
  const { status: _, ...open } = copy
  const named = { output: { bill: bills } }
  const listed = { output: { bills: [bills] } } as const
  const row = { name: 'c' }
  return service({
    name: 'bills',
    versions: { v1: { released: '2025-01-01' } },
    resources: [bills],
  })
    .route({
      ...{ ...copy, path: '/copies', output: bills },
      handle: async ({ write }) => ({ body: await write((tx) => tx.create(bills, row)) }),
    })
    .route({
      ...{ ...copy, path: '/named', ...named },
      handle: async ({ write }) => ({
        body: { bill: await write((tx) => tx.create(bills, row)) },
      }),
    })
    .route({
      ...{ ...copy, path: '/listed', ...listed },
      handle: async ({ write }) => ({
        body: { bills: [await write((tx) => tx.create(bills, row))] },
      }),
    })
    .route({
      ...{ ...open, path: '/open' },
      handle: async ({ write }) => {
        const { name, margin: of } = await write((tx) => tx.create(bills, row))
        return { body: { name, margin: of } }
      },
    })
    .route({
      ...{ ...open, path: '/open-in-steps', steps: true },
      handle: async ({ write }) => {
        const { margin: of } = await write('copy', (tx) => tx.create(bills, row))
        return { body: { margin: of } }
      },
    })
    .route({
      ...{ ...copy, path: '/named-in-steps', ...named, steps: true },
      handle: async ({ write }) => ({
        body: { bill: await write('copy', (tx) => tx.create(bills, row)) },
      }),
    })
    .route({
      ...{ ...copy, path: '/listed-in-steps', ...listed, steps: true },
      handle: async ({ write }) => ({
        body: { bills: [await write('copy', (tx) => tx.create(bills, row))] },
      }),
    })
}

const OPEN = ['open', 'open-in-steps']
const COPIES = ['copies', 'named', 'listed', 'named-in-steps', 'listed-in-steps', ...OPEN]

const eachLimit = databases.flatMap(({ name }) => LIMITED.map((limit) => [name, ...limit] as const))

for (const [name, call, limitedMargin, margins] of eachLimit) {
  test(`a replay has no field that a later declaration limits: ${call} [${name}]`, async (t) => {
    const before = await openService(t, name, { service: serviceWith(margin) })
    const scopes = ['bills:read', 'bills:write']
    const key = await before.key({ scopes })
    const send = (app: TestApp, key: string, path: string) =>
      app.as(key).post(`/api/v1/${path}`, path === 'bills' ? { name: 'a' } : undefined, {
        'idempotency-key': `k-${path}`,
      })
    const first = await send(before, key, 'bills')
    assert.deepEqual([first.status, first.body.margin], [201, 7])
    for (const path of COPIES) {
      const copy = await send(before, key, path)
      assert.equal(copy.status, OPEN.includes(path) ? 200 : 201, copy.text)
      assert.match(copy.text, /"margin":7/)
      assert.deepEqual((await send(before, key, path)).body, copy.body)
    }
    await before.app.close()
    const limited = serviceWith(limitedMargin)
    const after = await openService(t, name, { service: limited, url: before.url })
    const replay = await send(after, key, 'bills')
    const { margin: _, ...rest } = first.body
    assert.deepEqual([replay.status, isReplay(replay), replay.body], [201, true, rest])
    for (const path of COPIES) {
      const rejected = await send(after, key, path)
      assert.deepEqual([rejected.status, rejected.body.error], [403, 'insufficient_scope'], path)
    }
    assert.equal((await after.as(key).get('/api/v1/bills')).body.data.length, 1 + COPIES.length)
    const all = [...scopes, ...(margins ? [margins] : [])]
    const wide = await send(after, await after.key({ scopes: all }), 'bills')
    assert.equal(wide.body.margin, margins && 7)
    assert.deepEqual((await send(after, key, 'bills')).body, rest)
  })
}
