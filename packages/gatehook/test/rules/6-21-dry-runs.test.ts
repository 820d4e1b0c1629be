/** §6.21: `Prefer: dry-run` returns the response of a write and its events, without an effect. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { prefersDryRun } from '../../src/protocol/idempotency/dry-run.ts'
import { openHook } from '../webhooks/hook.ts'

const rooms = resource('rooms', {
  fields: {
    id: f.id(),
    name: f.string().max(20).unique(),
    status: f.oneOf(['open', 'shut']).default('open').readonly(),
  },
  list: { filter: [], sort: [] },
  access: {
    read: 'rooms:read',
    create: 'rooms:write',
    update: 'rooms:write',
    delete: 'rooms:write',
  },
  events: ['room.created', 'room.updated', 'room.deleted'],
  batch: true,
})
  .rule('create', async ({ tx, after }) => {
    if (!after.name.startsWith('twin')) return
    for (const name of [`of ${after.name}`, 'shared']) await tx.create(rooms, { name })
  })
  .action('shut', { scope: 'rooms:write', from: ['open'], to: 'shut', emits: 'room.shut' })
const house = {
  env: { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' },
  service: service({
    name: 'house',
    versions: { v1: { released: '2026-01-01' } },
    resources: [rooms],
  }).route({
    method: 'POST',
    path: '/moves',
    scope: 'rooms:write',
    summary: 'Creates a room.',
    output: rooms,
    async handle({ write }) {
      return { body: await write((tx) => tx.create(rooms, { name: 'moved' })) }
    },
  }),
}

const dry = { prefer: 'return=minimal, dry-run' }
const state = async ({ get }: TestApp) => [
  (await get('/api/v1/rooms?pagination=page')).body,
  (await get('/events?pagination=page')).body.total,
]

eachService(
  'no write of a dry run has an effect, and each response is that of the write',
  async (app, t) => {
    const { post, patch } = app
    const hook = await openHook(t)
    const { body: room } = await post('/api/v1/rooms', { name: 'attic' })
    const webhook = await post('/webhooks', { url: hook.url, events: ['*'] })
    assert.equal(webhook.status, 201, webhook.text)
    const before = await state(app)
    const path = `/api/v1/rooms/${room.id}`
    const cases = [
      [await post('/api/v1/rooms', { name: 'cellar' }, dry), 201, 'room.created'],
      [await patch(path, { name: 'cellar' }, dry), 200, 'room.updated'],
      [await post(`${path}/shut`, undefined, dry), 200, 'room.shut'],
      [await app.delete(path, dry), 204, 'room.deleted'],
      [await post('/api/v1/rooms/batch', { items: [{ name: 'b' }] }, dry), 200, 'room.created'],
      [await post('/api/v1/moves', {}, dry), 200, 'room.created'],
      [await post('/api/v1/rooms?dry_run=true', { name: 'cellar' }), 201, 'room.created'],
    ] as const
    for (const [reply, status, type] of cases) {
      const report = reply.body._dry_run
      assert.equal(reply.status, status === 204 ? 200 : status, reply.text)
      assert.equal(reply.headers['preference-applied'], 'dry-run')
      assert.deepEqual([reply.headers.location, reply.headers.etag], [undefined, undefined])
      assert.deepEqual([report.status, report.event_count], [status, 1])
      assert.equal(report.events[0].type, type)
      const { id: webhook_id, api_version } = webhook.body
      assert.deepEqual(report.deliveries, [{ webhook_id, event_type: type, api_version }])
    }
    assert.equal(cases[1][0].body.name, 'cellar')
    assert.equal(cases[1][0].body._dry_run.events[0].data.object.name, 'cellar')
    assert.deepEqual(await state(app), before)
  },
  house,
)

eachService(
  'a dry run fails as the write does, and stores no idempotency key',
  async (app) => {
    const { post } = app
    const key = { 'idempotency-key': 'a' }
    const rehearsed = await post('/api/v1/rooms', { name: 'attic' }, { ...dry, ...key })
    assert.equal(rehearsed.status, 201)
    const real = await post('/api/v1/rooms', { name: 'attic' }, key)
    assert.deepEqual([real.status, real.headers['idempotent-replayed']], [201, undefined])
    const before = await state(app)
    const taken = await post('/api/v1/rooms', { name: 'attic' }, dry)
    assert.deepEqual([taken.status, taken.body.error], [409, 'conflict'])
    assert.equal((await post('/api/v1/rooms', {}, dry)).status, 422)
    assert.equal((await app.delete('/api/v1/rooms/99', dry)).status, 404)
    const odd = await post('/api/v1/rooms?dry_run=yes', { name: 'z' })
    assert.deepEqual([odd.status, odd.body.error], [400, 'invalid_parameter'])
    assert.deepEqual(await state(app), before)
    const other = await post('/api/v1/rooms', { name: 'z' }, { prefer: 'note="a, dry-run, b"' })
    assert.deepEqual([other.status, other.body._dry_run], [201, undefined])
  },
  house,
)

eachService(
  'the report contains only what the caller could read',
  async (app) => {
    const writer = app.as(await app.key({ scopes: ['rooms:write'] }))
    const { body } = await writer.post('/api/v1/rooms', { name: 'attic' }, dry)
    assert.deepEqual(body._dry_run, { status: 201, event_count: 1, events: [] })
  },
  house,
)

test('only the preference dry-run without a value requests a dry run', () => {
  const isDryRun = (prefer: string) => prefersDryRun({ headers: { prefer } })
  for (const prefer of [
    'dry-run',
    'a=1, Dry-Run ;b',
    'dry-run=""',
    'x="\\"", dry-run',
    'a,,dry-run',
  ]) {
    assert.equal(isDryRun(prefer), true, prefer)
  }
  for (const prefer of [
    '',
    'wait=5',
    'note="a, dry-run, b"',
    'x;dry-run',
    'dry-runs',
    'a="dry-run',
  ]) {
    assert.equal(isDryRun(prefer), false, prefer)
  }
  for (const prefer of ['dry-run=true', 'dry-run=1', 'dry-run="a,b"', 'dry-run, dry-run=false']) {
    assert.throws(() => isDryRun(prefer), { code: 'invalid_request' }, prefer)
  }
})

eachService(
  'a preference dry-run with a value is 400, and writes nothing',
  async (app) => {
    const before = await state(app)
    for (const prefer of ['dry-run=true', 'dry-run=1']) {
      for (const [path, body] of [
        ['/api/v1/rooms', { name: 'attic' }],
        ['/api/v1/moves', {}],
      ] as const) {
        const reply = await app.post(path, body, { prefer })
        assert.deepEqual([reply.status, reply.body.error], [400, 'invalid_request'])
      }
    }
    const empty = await app.post('/api/v1/rooms', { name: 'attic' }, { prefer: 'dry-run=""' })
    assert.equal(empty.body._dry_run.status, 201)
    assert.deepEqual(await state(app), before)
  },
  house,
)

eachService(
  'operations of the engine reject a dry run without an effect',
  async (app, t) => {
    const hook = await openHook(t)
    const admin = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
    const { body: webhook } = await app.post('/webhooks', { url: hook.url, events: ['*'] })
    const { body: customer } = await admin.post('/admin/customers', { name: 'Acme' })
    const path = `/webhooks/${webhook.id}`
    const writes = [
      [app, 'DELETE', path, undefined, 'dry-run'],
      [app, 'PATCH', path, { events: ['room.*'] }, 'dry-run'],
      [app, 'POST', '/webhooks', { url: hook.url, events: ['*'] }, 'dry-run=true'],
      [admin, 'POST', '/admin/customers', { name: 'Other' }, 'wait=1, dry-run'],
      [admin, 'POST', `/admin/as/${customer.id}/live/webhooks`, { url: hook.url }, 'dry-run'],
    ] as const
    for (const [caller, method, url, body, prefer] of writes) {
      const header = await caller.send(method, url, body, { prefer })
      assert.deepEqual([header.status, header.body.error], [400, 'invalid_request'], url)
      const query = await caller.send(method, `${url}?dry_run=true`, body)
      assert.deepEqual([query.status, query.body.error], [400, 'unknown_parameter'], url)
    }
    const { body: webhooks } = await app.get('/webhooks')
    assert.deepEqual(
      webhooks.data.map(({ id, events }: { id: string; events: string[] }) => [id, events]),
      [[webhook.id, ['*']]],
    )
    assert.equal((await app.get(path, { prefer: 'dry-run' })).status, 200)
    const { body: customers } = await admin.get('/admin/customers')
    assert.ok(!customers.data.some(({ name }: { name: string }) => name === 'Other'))
  },
  house,
)

eachService(
  'an item that a batch refuses has no event in the report',
  async ({ post }) => {
    await post('/api/v1/rooms', { name: 'taken' })
    const items = ['a', 'twin a', 'twin b', 'taken'].map((name) => ({ name }))
    const body = { atomic: false, items }
    const report = (await post('/api/v1/rooms/batch', body, dry)).body
    assert.deepEqual(
      report.items.map(({ status }: { status: number }) => status),
      [201, 201, 409, 409],
    )
    assert.equal(report._dry_run.events.length, 4)
    const real = (await post('/api/v1/rooms/batch', body)).body
    assert.deepEqual(
      real.items.map(({ status }: { status: number }) => status),
      [201, 201, 409, 409],
    )
  },
  house,
)
