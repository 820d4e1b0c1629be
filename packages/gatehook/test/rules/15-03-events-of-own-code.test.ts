/** §15.3: events of own code are values, which the engine renders as its own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { event, f, fields, job, resource, service } from '../../src/gatehook.ts'

const access = {
  read: 'bills:read',
  create: 'bills:write',
  update: 'bills:write',
  delete: false,
} as const
const bills = resource('bills', {
  fields: {
    id: f.id(),
    note: f.string().default(''),
    secret_note: f.string().default('SECRET').visible('bills:internal'),
    pin: f.string().default('1234').writeOnly(),
    status: f.oneOf(['open', 'paid']).default('open').readonly(),
    created_at: f.createdAt(),
  },
  list: { filter: [], sort: [] },
  access,
  events: ['bill.created'],
})
  .action('pay', { scope: 'bills:write', from: ['open'], to: 'paid', emits: 'bill.paid' })
  .before('v2', {
    why: 'memo is now note',
    had: { memo: f.string().default('') },
    hadNot: ['note'],
    up: (old) => ({ note: old.memo }),
    down: (row) => ({ memo: row.note }),
    renamed: { memo: 'note' },
  })
const overdue = event('bill.overdue', bills)
const ready = event(
  'report.ready',
  fields({ cents: f.int(), at: f.time().nullable().default(null) }).before('v2', {
    why: 'Amounts are cents.',
    had: { euros: f.number() },
    hadNot: ['cents'],
    up: (old) => ({ cents: Math.round(old.euros * 100) }),
    down: (row) => ({ euros: row.cents / 100 }),
  }),
  { scope: 'reports:read' },
)
const arrived = event(
  'parcel.arrived',
  fields({ grams: f.int().min(1), at: f.time() }).before('v2', {
    why: 'Weights are grams.',
    had: { kilos: f.number() },
    hadNot: ['grams'],
    up: (old) => ({ grams: old.kilos * 1000 }),
    down: (row) => ({ kilos: row.grams / 1000 }),
  }),
  { scope: 'parcels:read' },
)
const foreign = event('bill.foreign', bills)
const count = job('count', { n: f.int() })

const handled: unknown[] = []
const ways = {
  overdue: (tx, id) => tx.emit(overdue, id),
  keyed: (tx, id) => tx.emit(overdue, id, { key: 'a' }),
  ready: (tx) => tx.emit(ready, { cents: 150, at: 0 }),
  enqueue: (tx) => tx.enqueue(count, { n: 1 }, { key: 'a' }),
  wrong: (tx) => tx.emit(ready, { cents: 'x' }),
  more: (tx) => tx.emit(ready, { cents: 1, colour: 1 }),
  undeclared: (tx, id) => tx.emit(foreign, id),
  name: (tx, id) => tx.emit('bill.paid', { id }),
  external: (tx) => tx.emit(arrived, { grams: 1, at: 0 }),
  long: (tx, id) => tx.emit(overdue, id, { key: 'x'.repeat(256) }),
  none: (tx, id) => tx.emit(overdue, id, { key: '' }),
  // biome-ignore lint/suspicious/noExplicitAny: plain JavaScript
} satisfies Record<string, (tx: any, id: number) => Promise<unknown>>

const billing = service({
  name: 'billing',
  versions: { v1: { released: '2025-06-01' }, v2: { released: '2026-06-01' } },
  resources: [bills],
  events: [overdue, ready],
  externalEvents: [
    'payment.succeeded',
    { event: arrived, from: ['api'] },
    { event: event('ledger.closed', fields({ id: f.int() })), from: ['sql'] },
  ],
})
  .route({
    method: 'POST',
    path: '/ways/:way/:id',
    scope: 'bills:write',
    summary: 'Emit an event',
    output: { result: f.string().nullable() },
    async handle({ params, write }) {
      const way = ways[params.way as keyof typeof ways]
      const result = await write((tx) => way(tx, Number(params.id)))
      return { body: { result: typeof result === 'string' ? result : null } }
    },
  })
  .job(count, ({ input }) => void handled.push(input))
  .on(overdue, ({ event }) => void handled.push(event.data.object))
  .on(ready, ({ event }) => void handled.push(event.data.object))
  .on(bills, 'bill.paid', ({ event }) => void handled.push(event.data.object.status))
  .on('payment.succeeded', ({ event }) => void handled.push(event.data.object))

const runDue = ({ app }: TestApp) => app.jobs.runDue()
type Read = (path: string) => Promise<{ body: { data: { data: { object: unknown } }[] } }>
const objects = async (get: Read, type: string) =>
  (await get(`/events?type=${type}`)).body.data.map(({ data }) => data.object)

eachService(
  'the engine renders an event of own code as its own: rights, wire form and versions',
  async (app) => {
    handled.length = 0
    const reader = (version: string) =>
      app.key({ scopes: ['events:read', 'bills:read', 'reports:read'], api_version: version })
    const [v1, v2] = [app.as(await reader('v1')), app.as(await reader('v2'))]
    const bill = (await app.post('/api/v2/bills', { note: 'a' })).body
    assert.equal((await app.post(`/api/v2/ways/overdue/${bill.id}`)).status, 200)
    assert.equal((await app.post('/api/v2/ways/ready/0')).status, 200)
    const paid = (await app.post(`/api/v2/bills/${bill.id}/pay`)).body
    const asEvent = { ...bill }
    delete asEvent.secret_note
    assert.deepEqual(await objects(v2.get, 'bill.overdue'), [asEvent])
    const [older] = await objects(v1.get, 'bill.overdue')
    const { note, ...rest } = asEvent
    assert.deepEqual(older, { ...rest, memo: note })
    const at = '1970-01-01T00:00:00.000Z'
    assert.deepEqual(await objects(v2.get, 'report.ready'), [{ cents: 150, at }])
    assert.deepEqual(await objects(v1.get, 'report.ready'), [{ euros: 1.5, at }])
    const blind = app.as(await app.key({ scopes: ['events:read'] }))
    for (const type of ['bill.overdue', 'report.ready']) {
      assert.deepEqual((await blind.get(`/events?type=${type}`)).body.data, [], type)
    }
    await runDue(app)
    assert.equal(paid.status, 'paid')
    assert.deepEqual(new Set(handled), new Set([asEvent, { cents: 150, at }, 'paid']))
  },
  { service: billing },
)

eachService(
  'a repeat of a key within a day adds nothing, and another key or customer does',
  async (app) => {
    handled.length = 0
    const operator = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
    const { id } = (await app.post('/api/v2/bills', {})).body
    const emit = (way: string, caller = app as Pick<TestApp, 'post'>) =>
      caller.post(`/api/v2/ways/${way}/${id}`)
    await emit('keyed')
    await emit('keyed')
    assert.equal((await objects(app.get, 'bill.overdue')).length, 1)
    const first = (await emit('enqueue')).body.result
    assert.equal((await emit('enqueue')).body.result, first)
    const live = app.as(await app.key({ mode: 'live' }))
    assert.notEqual((await emit('enqueue', live)).body.result, first)
    await runDue(app)
    assert.equal(handled.filter((value) => 'n' in (value as object)).length, 2)
    await operator.post('/admin/clock', { advance_s: 86_401 })
    await emit('keyed')
    assert.equal((await objects(app.get, 'bill.overdue')).length, 2)
    assert.notEqual((await emit('enqueue')).body.result, first)
  },
  { service: billing, env: { GATEHOOK_TEST_CLOCK: '1' } },
)

eachService(
  'of simultaneous calls with one key one has an effect',
  async (app) => {
    const { id } = (await app.post('/api/v2/bills', {})).body
    const calls = Array.from({ length: 8 }, () => app.post(`/api/v2/ways/keyed/${id}`))
    for (const { status } of await Promise.all(calls)) assert.equal(status, 200)
    assert.equal((await objects(app.get, 'bill.overdue')).length, 1)
  },
  { service: billing },
)

eachService(
  'nothing else is emitted by own code, and a mistake records nothing',
  async (app) => {
    const { id } = (await app.post('/api/v2/bills', {})).body
    for (const way of ['wrong', 'more', 'undeclared', 'name', 'external', 'long', 'none']) {
      assert.equal((await app.post(`/api/v2/ways/${way}/${id}`)).status, 500, way)
    }
    assert.equal((await app.post('/api/v2/ways/overdue/999')).status, 404)
    const types = (await app.get('/events')).body.data.map(({ type }: { type: string }) => type)
    assert.deepEqual(types, ['bill.created'])
  },
  { service: billing },
)

eachService(
  'a typed external event is validated and converted in the version of the key',
  async (app) => {
    const scopes = ['events:read', 'events:write', 'parcels:read']
    const [v1, v2] = await Promise.all(
      ['v1', 'v2'].map(async (api_version) => app.as(await app.key({ scopes, api_version }))),
    )
    const newest = app.as(await app.key({ scopes }))
    const at = '2026-01-01T00:00:00.000Z'
    const posted = await v1!.post('/events', { type: 'parcel.arrived', object: { kilos: 2, at } })
    assert.deepEqual([posted.status, posted.body.data.object], [201, { kilos: 2, at }])
    assert.deepEqual(await objects(v2!.get, 'parcel.arrived'), [{ grams: 2000, at }])
    for (const [caller, object] of [
      [v1!, { grams: 1, at }],
      [v2!, { kilos: 1, at }],
      [newest, { grams: 0, at }],
      [newest, { grams: 1, at: 'today' }],
      [newest, {}],
    ] as const) {
      const { status, body } = await caller.post('/events', { type: 'parcel.arrived', object })
      assert.deepEqual([status, body.error], [422, 'validation_failed'], JSON.stringify(object))
      assert.match(body.errors[0].pointer, /^\/object\//)
    }
    const type = 'payment.succeeded'
    assert.equal((await newest.post('/events', { type, object: { any: 1 } })).status, 201)
    for (const own of ['bill.overdue', 'report.ready', 'ledger.closed', 'bill.paid']) {
      const forged = await newest.post('/events', { type: own, object: {} })
      assert.deepEqual([forged.status, forged.body.error], [422, 'validation_failed'], own)
    }
  },
  { service: billing },
)

test('every mistake of an event has a sentence', () => {
  const declare = (more: object) =>
    service({
      name: 'b',
      versions: { v1: { released: '2025-06-01' }, v2: { released: '2026-06-01' } },
      resources: [bills],
      ...more,
    } as never)
  const plain = (value: unknown) => value as never
  const handle = () => {}
  const wrong: readonly [RegExp, () => unknown][] = [
    [/second argument is a resource, or fields/, () => event('a.b', plain({}))],
    [/second argument is a resource, or fields/, () => event('a.b', plain(undefined))],
    [/scope: that of the resource/, () => event('a.b', plain(bills), { scope: 'x:read' })],
    [/there is no member colour/, () => event('a.b', fields({}), plain({ colour: 1 }))],
    [/row is a field/, () => event('a.b', plain(fields(plain({ row: bills }))))],
    [
      /code is a field that is not secret/,
      () => event('a.b', fields({ code: f.string().secret() })),
    ],
    [
      /up and down are required/,
      () =>
        event(
          'a.b',
          fields({ a: f.int() }).before('v2', {
            why: 'x',
            had: { b: f.int() },
            hadNot: ['a'],
            down: (row) => ({ b: row.a }),
          }),
        ),
    ],
    [/events is an array of event/, () => declare({ events: ['a.b'] })],
    [/events is an array of event/, () => declare({ events: 'a.b' })],
    [/types look like/, () => declare({ events: [event('Ab', fields({}))] })],
    [
      /event a\.b: is declared twice/,
      () => declare({ events: [event('a.b', fields({})), event('a.b', fields({}))] }),
    ],
    [/declared by bills and by events/, () => declare({ events: [event('bill.paid', bills)] })],
    [
      /declared by the engine and by events/,
      () => declare({ events: [event('key.created', fields({}))] }),
    ],
    [
      /declared by the engine and by externalEvents/,
      () => declare({ externalEvents: ['key.created'] }),
    ],
    [
      /event a\.b: from is an array of api, sql/,
      () => declare({ externalEvents: [{ event: event('a.b', fields({})), from: ['mail'] }] }),
    ],
    [
      /externalEvents is an array/,
      () => declare({ externalEvents: [{ event: event('a.b', bills) }] }),
    ],
    [/the service has no resource bills/, () => declare({ resources: [], events: [overdue] })],
    [
      /the scope "X Y" is not of the form/,
      () => declare({ events: [event('a.b', fields({}), { scope: 'X Y' })] }),
    ],
    [
      /bills has no event bill\.piad; did you mean bill\.paid\?/,
      () => billing.on(bills, plain('bill.piad'), handle),
    ],
    [/there is no event payment\.suceeded/, () => billing.on(plain('payment.suceeded'), handle)],
    [/there is no event bill\.foreign/, () => billing.on(foreign, handle)],
  ]
  for (const [sentence, call] of wrong) assert.throws(call, sentence)
})
