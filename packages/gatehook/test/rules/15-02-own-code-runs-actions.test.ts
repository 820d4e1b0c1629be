/** §15.2: `tx.act` runs declared actions; own code changes the state of a row in no other way. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { f, failure, fields, resource, service } from '../../src/gatehook.ts'
import { createCustomer } from '../../src/identity/access/customers.ts'

const actor = { kind: 'cli', id: 'root' } as const
const unpaid = failure('unpaid', { status: 402, message: 'The bill is not paid.' })
const access = (name: string) =>
  ({
    read: `${name}:read`,
    create: `${name}:write`,
    update: `${name}:write`,
    delete: false,
  }) as const

/** The note of a row selects what its rules do. */
const bills = resource('bills', {
  fields: {
    id: f.id('bill'),
    status: f.oneOf(['open', 'paid', 'void']).default('open').readonly(),
    cents: f.int().default(100),
    note: f.string().max(40).default(''),
    paid_at: f.time().nullable().default(null).readonly(),
    paid_by: f.string().max(20).default('').readonly(),
  },
  list: { filter: [], sort: [] },
  access: access('bills'),
  events: ['bill.updated'],
})
  .action('settle', {
    scope: false,
    from: ['open'],
    to: 'paid',
    emits: 'bill.paid',
    input: fields({ payer: f.string().max(20), at: f.time().nullable().default(null) }),
    run: ({ input, now }) => ({ paid_by: input.payer, paid_at: input.at ?? now }),
  })
  .action('void', { scope: 'bills:void', from: ['open'], to: 'void' })
  .action('mark', {
    scope: 'bills:write',
    run: ({ row }) => (row.note === 'run' ? ({ status: 'paid' } as never) : { cents: 1 }),
  })
  .rule('settle', ({ before }) => {
    if (before.note === 'poor') throw unpaid()
  })
  .rule('update', async ({ tx, after }) => {
    if (after.note === 'itself') await tx.act(bills, after.id, 'void')
    if (after.note === 'rule') return { status: 'paid' } as never
  })

const actsOf = {
  settle: (tx, id) => tx.act(bills, id, 'settle', { payer: 'me' }),
  settle_badly: (tx, id) => tx.act(bills, id, 'settle', { payer: 'x'.repeat(21) }),
  settle_empty: (tx, id) => tx.act(bills, id, 'settle'),
  settle_more: (tx, id) => tx.act(bills, id, 'settle', { payer: 'me', colour: 1 }),
  void: (tx, id) => tx.act(bills, id, 'void'),
  unknown: (tx, id) => tx.act(bills, id, 'oops'),
  update: (tx, id) => tx.update(bills, id, { status: 'paid' }),
  import: (tx) => tx.create(bills, { status: 'paid' }),
  // biome-ignore lint/suspicious/noExplicitAny: plain JavaScript
} satisfies Record<string, (tx: any, id: string) => Promise<unknown>>
type Way = keyof typeof actsOf

const billing = service({
  name: 'billing',
  versions: { v1: { released: '2026-01-01' } },
  resources: [bills],
}).route({
  method: 'POST',
  path: '/ways/:way/:id',
  scope: 'bills:write',
  summary: 'Act by own code',
  output: bills,
  async handle({ params, write }) {
    const row = await write((tx) => actsOf[params.way as Way](tx, params.id))
    return { body: row as never }
  },
})

eachService(
  'an action of own code has its states, rules, input and event, without its scope',
  async (app) => {
    const key = app.as(await app.key({ scopes: ['bills:read', 'bills:write', 'events:read'] }))
    const create = async (values = {}) => (await key.post('/api/v1/bills', values)).body.id
    const id = await create()
    const paid = await key.post(`/api/v1/ways/settle/${id}`)
    assert.deepEqual([paid.body.status, paid.body.paid_by], ['paid', 'me'])
    assert.ok(paid.body.paid_at)
    const { data } = (await key.get('/events?type=bill.paid')).body
    assert.deepEqual(data[0].data.object, paid.body)
    const again = await key.post(`/api/v1/ways/settle/${id}`)
    assert.deepEqual([again.status, again.body.error], [409, 'invalid_state'])
    const poor = await create({ note: 'poor' })
    const refused = await key.post(`/api/v1/ways/settle/${poor}`)
    assert.deepEqual([refused.status, refused.body.error], [402, 'unpaid'])
    const voided = await key.post(`/api/v1/ways/void/${poor}`)
    assert.equal(voided.body.status, 'void', 'the scope bills:void is not asked for')
    assert.equal((await key.post(`/api/v1/ways/import/${id}`)).body.status, 'paid')
    assert.equal((await key.post(`/api/v1/bills/${id}/settle`)).status, 404, 'it has no endpoint')
    for (const missing of ['bill_0VhKq3ZrT4mXw9sLd2fGhJ', '7']) {
      assert.equal((await key.post(`/api/v1/ways/settle/${missing}`)).status, 404, missing)
    }
  },
  { service: billing },
)

eachService(
  'own code that changes the state beside the actions is a mistake, and stores nothing',
  async (app) => {
    const id = (await app.post('/api/v1/bills', {})).body.id
    const attempt = async (path: string, body?: object) =>
      (await app.post(`/api/v1${path}`, body)).status
    for (const way of ['update', 'settle_badly', 'settle_empty', 'settle_more', 'unknown']) {
      assert.equal(await attempt(`/ways/${way}/${id}`), 500, way)
    }
    await app.patch(`/api/v1/bills/${id}`, { note: 'run' })
    assert.equal(await attempt(`/bills/${id}/mark`), 500)
    for (const note of ['itself', 'rule']) {
      assert.equal((await app.patch(`/api/v1/bills/${id}`, { note })).status, 500, note)
    }
    const { status, note } = (await app.get(`/api/v1/bills/${id}`)).body
    assert.deepEqual([status, note], ['open', 'run'])
  },
  { service: billing },
)

eachService(
  'an action of own code stays within the reach of its context',
  async (app) => {
    const { id } = (await app.post('/api/v1/bills', {})).body
    const { administration } = app.app
    const other = await createCustomer(administration, { name: 'Other' }, actor)
    const others = [await app.key({ mode: 'live' }), await app.key({ customer: other.id })]
    for (const key of others) {
      assert.equal((await app.as(key).post(`/api/v1/ways/settle/${id}`)).status, 404)
    }
    assert.equal((await app.get(`/api/v1/bills/${id}`)).body.status, 'open')
  },
  { service: billing },
)

test('an action without an endpoint has no scope', () => {
  const { definition } = bills
  assert.deepEqual(
    definition.actions.map(({ name, scope }) => [name, scope]),
    [
      ['settle', false],
      ['void', 'bills:void'],
      ['mark', 'bills:write'],
    ],
  )
  for (const scope of [true, 7, null, undefined]) {
    assert.throws(() => bills.action('x', { scope: scope as never }), /scope is required; `false`/)
  }
})
