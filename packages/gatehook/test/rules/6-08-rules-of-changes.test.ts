/** §6.8: `.rule(…)` runs in the transaction of a change, and rejects or completes it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { Failure, f, resource, service, sql, table } from '../../src/gatehook.ts'

const access = (name: string) =>
  ({
    read: `${name}:read`,
    create: `${name}:write`,
    update: `${name}:write`,
    delete: `${name}:write`,
  }) as const
const list = { filter: [], sort: ['id'] } as const

const halls = resource('halls', {
  fields: { id: f.id(), price: f.int(), visits: f.int().default(0) },
  list,
  access: access('halls'),
  events: ['hall.updated'],
})

const visits = resource('visits', {
  fields: {
    id: f.id(),
    hall_id: f.ref('halls'),
    status: f.oneOf(['open', 'closed']).default('open').readonly(),
    day: f.int(),
    price: f.int().max(500).default(0),
  },
  list,
  access: access('visits'),
  events: ['visit.created', 'visit.updated', 'visit.deleted'],
})
  .rule('create', async ({ tx, lock, after, before }) => {
    assert.equal(before, undefined)
    const hall = await lock(halls, after.hall_id)
    const other = await tx.sql.get(sql`SELECT id FROM ${table(visits)}
      WHERE hall_id = ${hall.id} AND day = ${after.day}`)
    if (other) throw taken()
    await tx.update(halls, hall.id, { visits: hall.visits + 1 })
    return { price: hall.price }
  })
  .rule('update', ({ before, after }) => {
    if (after.day < before.day) throw new Failure('conflict', 'Days only move forward.')
  })
  .rule('close', ({ after }) => ({ price: after.status === 'closed' ? after.price + 1 : 0 }))
  .rule('delete', ({ before }) => {
    if (before.status === 'open') throw new Failure('conflict', 'An open visit remains.')
  })
  .action('close', { scope: 'visits:write', from: ['open'], to: 'closed' })
  .before('v2', {
    why: 'Days are short.',
    had: { date: f.int() },
    hadNot: ['day'],
    up: ({ date }) => ({ day: date }),
    down: ({ day }) => ({ date: day }),
    renamed: { date: 'day' },
  })

const taken = () =>
  new Failure('conflict', 'taken', {
    errors: [{ pointer: '/day', code: 'conflict', message: 'is taken' }],
  })

const chains = resource('chains', {
  fields: { id: f.id() },
  list,
  access: access('chains'),
  events: [],
})
const endless = chains.rule('create', async ({ tx }) => {
  await tx.create(chains, {})
})

const museum = service({
  name: 'museum',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  resources: [halls, visits, endless],
}).route({
  method: 'POST',
  path: '/halls/:id/visit',
  scope: 'visits:write',
  summary: 'Visit',
  output: visits,
  async handle({ params, write }) {
    const hall_id = Number(params.id)
    return { body: await write((tx) => tx.create(visits, { hall_id, day: 1 })) }
  },
})

eachService(
  'a rule completes or rejects a change on every path',
  async ({ post, patch, get, delete: remove }) => {
    const hall = (await post('/api/v2/halls', { price: 70 })).body
    const first = await post('/api/v2/visits', { hall_id: hall.id, day: 1, price: 5 })
    assert.deepEqual([first.status, first.body.price], [201, 70])
    const path = `/api/v2/visits/${first.body.id}`
    const second = await post('/api/v1/visits', { hall_id: hall.id, date: 1 })
    assert.deepEqual([second.status, second.body.errors[0].pointer], [409, '/date'])
    assert.equal((await post(`/api/v2/halls/${hall.id}/visit`)).status, 409)
    assert.equal((await get(`/api/v2/halls/${hall.id}`)).body.visits, 1)
    assert.equal((await patch(path, { day: 0 })).body.message, 'Days only move forward.')
    assert.equal((await patch(path, { day: 2 })).status, 200)
    assert.equal((await remove(path)).body.message, 'An open visit remains.')
    assert.equal((await post(`${path}/close`)).body.price, 71)
    assert.equal((await remove(path)).status, 204)
    const types = (await get('/events')).body.data.map((event: { type: string }) => event.type)
    const expected = ['hall.updated', 'visit.created', 'visit.updated', 'visit.deleted']
    assert.deepEqual(types, expected)
    const missing = await post('/api/v2/visits', { hall_id: 999, day: 1 })
    // A row that a rule reads and a reference names is missing: the mistake is that of the field.
    assert.equal(missing.status, 422)
    const { pointer, code } = missing.body.errors[0]
    assert.deepEqual([pointer, code], ['/hall_id', 'not_found'])
  },
  { service: museum },
)

eachService(
  'values of a rule obey their fields, and rules that cause each other end',
  async ({ post, get }) => {
    const hall = (await post('/api/v2/halls', { price: 501 })).body
    assert.equal((await post('/api/v2/visits', { hall_id: hall.id, day: 1 })).status, 500)
    assert.equal((await get('/api/v2/visits?pagination=page')).body.total, 0)
    assert.equal((await get(`/api/v2/halls/${hall.id}`)).body.visits, 0)
    assert.equal((await post('/api/v2/chains', {})).status, 500)
    assert.equal((await get('/api/v2/chains?pagination=page')).body.total, 0)
  },
  { service: museum },
)

eachService(
  'of parallel requests that a rule excludes one is stored',
  async ({ post, get }) => {
    const hall = (await post('/api/v2/halls', { price: 1 })).body
    for (let day = 0; day < 20; day++) {
      const body = { hall_id: hall.id, day }
      const replies = await Promise.all(
        Array.from({ length: 20 }, () => post('/api/v2/visits', body)),
      )
      const statuses = replies.map(({ status }) => status).sort()
      assert.deepEqual(statuses, [201, ...Array.from({ length: 19 }, () => 409)])
    }
    assert.equal((await get(`/api/v2/halls/${hall.id}`)).body.visits, 20)
  },
  { service: museum },
)

test('a rule names an operation of its resource', () => {
  const versions = { v1: { released: '2026-01-01' } }
  const wrong = halls.rule('demolish', () => undefined)
  assert.throws(
    () => service({ name: 's', versions, resources: [wrong] }),
    /there is no action demolish/,
  )
  assert.throws(() => halls.rule('create', {} as never), /\.rule\(create\): .* is a function/)
})
