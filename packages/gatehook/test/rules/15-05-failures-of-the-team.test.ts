/** §15.5: `failure(…)` declares a code of the team with its status and details. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { diffDocuments } from '../../src/declare/gate/document-diff.ts'
import { createCatalog } from '../../src/declare/resources/catalog.ts'
import { OWN_STATUSES } from '../../src/declare/resources/listed-failures.ts'
import { openApiDocuments } from '../../src/documents.ts'
import {
  Failure,
  type Fields,
  f,
  failure,
  fields,
  resource,
  type Service,
  service,
} from '../../src/gatehook.ts'
import { failures } from '../../src/kernel/failure.ts'
import { mistakes } from '../../src/kernel/mistakes.ts'

const exceeded = failure('amount_exceeds_due', {
  status: 409,
  message: 'The amount exceeds the open balance.',
  details: fields({ due_cents: f.int(), until: f.time().nullable().default(null) }).before('v2', {
    why: 'Amounts are cents.',
    had: { due: f.number() },
    hadNot: ['due_cents'],
    down: ({ due_cents }) => ({ due: due_cents / 100 }),
  }),
})
const declined = failure('payment_declined', { status: 402, message: 'The provider declined.' })
const access = {
  read: 'bills:read',
  create: 'bills:write',
  update: 'bills:write',
  delete: 'bills:write',
} as const

/** Throws the failure that the amount of a row names. */
const refuse = ({ amount }: { amount: number }) => {
  if (amount === 409) throw exceeded({ details: { due_cents: 150, until: 0 } })
  if (amount === 402) throw declined({ message: 'No money.' })
  if (amount === 422) {
    const error = { pointer: '/amount', code: exceeded.code, message: 'is too much' }
    throw new Failure('validation_failed', undefined, { errors: [error] })
  }
  if (amount === 410) {
    throw exceeded({
      details: { due_cents: 1 },
      errors: [{ pointer: '/amount', code: declined, message: 'is declined' }],
    })
  }
  if (amount === 500) throw exceeded({ details: { due_cents: 'x' } as never })
}
const listed = { failures: [exceeded, declined, 'conflict'] } as const
const bills = resource('bills', {
  fields: {
    id: f.id(),
    amount: f.int(),
    status: f.oneOf(['open', 'paid']).default('open').readonly(),
  },
  list: { filter: [], sort: [] },
  access,
  events: ['bill.created'],
  batch: true,
  softDelete: { scope: 'bills:write' },
})
  .action('pay', { scope: 'bills:write', from: ['open'], to: 'paid', ...listed })
  .rule('create', ({ after }) => refuse(after), listed)
  .rule('update', ({ after }) => refuse({ amount: after.amount % 1_000 }), listed)
  .rule('delete', ({ before }) => refuse({ amount: before.amount % 1_000 }), listed)
  .rule('restore', ({ after }) => refuse({ amount: after.amount % 10_000 }), listed)
  .rule('pay', ({ after }) => refuse({ amount: after.amount % 1_000 }))
const billing = service({
  name: 'billing',
  versions: { v1: { released: '2025-06-01' }, v2: { released: '2026-06-01' } },
  resources: [bills],
})
  .route({
    method: 'POST',
    path: '/payments',
    scope: 'bills:write',
    summary: 'Pay',
    input: { amount: f.int() },
    ...listed,
    handle: ({ input }) => refuse(input),
  })
  .route({
    method: 'GET',
    path: '/quote/:amount',
    scope: 'bills:read',
    summary: 'Quote',
    ...listed,
    handle: ({ params }) => refuse({ amount: Number(params.amount) }),
  })

const inNewest = { due_cents: 150, until: '1970-01-01T00:00:00.000Z' }
const inOldest = { due: 1.5, until: '1970-01-01T00:00:00.000Z' }

eachService(
  'every operation answers a failure of the team with its code, status and details',
  async (app) => {
    for (const [version, details] of [
      ['v2', inNewest],
      ['v1', inOldest],
    ] as const) {
      const base = `/api/${version}`
      const id = (await app.post(`${base}/bills`, { amount: 10_409 })).body.id
      const gone = (await app.post(`${base}/bills`, { amount: 20_000 })).body.id
      assert.equal((await app.delete(`${base}/bills/${gone}`)).status, 204)
      const answers = [
        await app.post(`${base}/payments`, { amount: 409 }),
        await app.get(`${base}/quote/409`),
        await app.post(`${base}/bills`, { amount: 409 }),
        await app.patch(`${base}/bills/${id}`, { amount: 20_409 }),
        await app.delete(`${base}/bills/${id}`),
        await app.post(`${base}/bills/${id}/pay`),
        await app.post(`${base}/bills/batch`, { items: [{ amount: 409 }] }),
      ]
      for (const { status, body } of answers) {
        assert.deepEqual([status, body.error, body.status], [409, 'amount_exceeds_due', 409])
        assert.deepEqual(body.details, details)
        assert.match(body.documentation ?? `#${body.error}`, /#amount_exceeds_due$/)
      }
      const items = await app.post(`${base}/bills/batch`, {
        items: [{ amount: 1 }, { amount: 409 }],
        atomic: false,
      })
      assert.deepEqual(items.body.items[1].body.details, details)
    }
  },
  { service: billing },
)

eachService(
  'a repeat, RFC 9457, a message of its own and codes of single mistakes',
  async (app) => {
    const key = { 'idempotency-key': 'a' }
    for (const replayed of [undefined, 'true']) {
      const { status, body, headers } = await app.post('/api/v2/payments', { amount: 409 }, key)
      assert.deepEqual([status, headers['idempotent-replayed']], [409, replayed])
      assert.deepEqual(body.details, inNewest)
    }
    const problem = await app.post(
      '/api/v2/payments',
      { amount: 402 },
      { accept: 'application/problem+json' },
    )
    assert.deepEqual(
      [problem.status, problem.body.title, problem.body.detail, problem.body.error],
      [402, 'The provider declined.', 'No money.', 'payment_declined'],
    )
    assert.equal('details' in problem.body, false)
    for (const [amount, status, code] of [
      [422, 422, 'amount_exceeds_due'],
      [410, 409, 'payment_declined'],
    ] as const) {
      const { body, ...answer } = await app.post('/api/v1/payments', { amount })
      assert.deepEqual([answer.status, body.errors[0].code], [status, code])
    }
    const wrong = await app.post('/api/v2/payments', { amount: 500 })
    assert.deepEqual([wrong.status, wrong.body.error], [500, 'internal_error'])
    assert.equal((await app.get('/api/v2/bills')).body.data.length, 0, 'nothing is stored')
  },
  { service: billing },
)

const documentsOf = ({ definition }: Service) =>
  openApiDocuments(
    createCatalog(definition, {
      clock: { now: () => 0, elapsedMs: () => 0 },
      random: { bytes: (n: number) => Buffer.alloc(n) } as never,
      record: async () => ({}) as never,
    }),
    false,
  )

// biome-ignore lint/suspicious/noExplicitAny: a document
const documentOf = (api: Service, name: string): any => documentsOf(api).get(name)

test('documents name the failures of each operation, with status and details', () => {
  for (const [version, member] of [
    ['v1', 'due'],
    ['v2', 'due_cents'],
  ] as const) {
    const document = documentOf(billing, version)
    const words = document['x-failures'].amount_exceeds_due
    assert.equal(words.status, 409)
    assert.ok(words.properties.details.properties[member], version)
    assert.ok(document.components.schemas.ErrorCode.enum.includes('payment_declined'))
    assert.ok(document.components.schemas.ErrorBody.properties.details)
    const base = `/api/${version}`
    const operations = [
      document.paths[`${base}/bills`].post,
      document.paths[`${base}/bills/batch`].post,
      document.paths[`${base}/bills/{id}`].patch,
      document.paths[`${base}/bills/{id}`].delete,
      document.paths[`${base}/bills/{id}/restore`].post,
      document.paths[`${base}/bills/{id}/pay`].post,
      document.paths[`${base}/payments`].post,
      document.paths[`${base}/quote/{amount}`].get,
    ]
    for (const { operationId, responses, ...operation } of operations) {
      for (const code of ['amount_exceeds_due', 'payment_declined', 'conflict']) {
        const codes = operation['x-errors'].filter((listed: string) => listed === code)
        assert.deepEqual(codes, [code], operationId)
      }
      assert.deepEqual(responses['402'], { $ref: '#/components/responses/Error402' })
    }
    const { example } = document.components.responses.Error402.content['application/json']
    assert.deepEqual([example.error, example.status], ['payment_declined', 402])
  }
})

test('the gate knows the status and the details of a failure', () => {
  const withFailure = (declared: ReturnType<typeof failure>) =>
    documentOf(
      service({
        name: 'billing',
        versions: { v1: { released: '2025-06-01' } },
        resources: [],
      }).route({
        method: 'GET',
        path: '/x',
        scope: 'x:read',
        summary: 'x',
        failures: [declared],
        handle: () => undefined,
      }),
      'v1',
    )
  const declare = (status: 409 | 410, details: Fields) =>
    withFailure(failure('late', { status, message: 'x', details: fields(details) } as never))
  const breaks = (before: object, after: object) =>
    diffDocuments(before as never, after as never)
      .filter(({ breaking }) => breaking)
      .map(({ sentence }) => sentence)
  const old = declare(409, { end: f.int() })
  assert.deepEqual(breaks(old, old), [])
  assert.match(breaks(old, declare(410, { end: f.int() }))[0]!, /late has a new status/i)
  assert.match(breaks(old, declare(409, {}))[0]!, /"?end"? /)
  assert.deepEqual(breaks(old, declare(409, { end: f.int(), start: f.int() })), [])
})

test('every mistake of a declared failure has a sentence', () => {
  const declare = (code: unknown, more: object = {}) =>
    failure(code as 'x', { status: 409, message: 'No.', ...more } as never)
  for (const code of [...Object.keys(failures), ...Object.keys(mistakes)]) {
    assert.throws(() => declare(code), /the engine has this code/, code)
  }
  for (const status of OWN_STATUSES) declare('own', { status })
  const wrong: readonly [RegExp, () => unknown][] = [
    [/codes look like/, () => declare('Too-Late')],
    [/codes look like/, () => declare(undefined)],
    [/status is one of 400, 402/, () => declare('own', { status: 418 })],
    [/status is one of/, () => declare('own', { status: '409' })],
    [/message is a sentence/, () => declare('own', { message: '' })],
    [/details is fields/, () => declare('own', { details: { a: f.int() } })],
    [/details is fields/, () => declare('own', { details: fields({ bill: bills }) })],
    [/status is one of/, () => failure('own', undefined as never)],
    [
      /failure own: is declared twice/,
      () =>
        billing.route({
          method: 'GET',
          path: '/two',
          scope: 'bills:read',
          summary: 'x',
          failures: [declare('own'), declare('own')],
          handle: () => undefined,
        }),
    ],
  ]
  for (const [sentence, call] of wrong) assert.throws(call, sentence)
  const given: readonly unknown[] = ['payment_declined', 'oops', 7, {}, () => {}]
  const calls: Readonly<Record<string, (failures: never) => unknown>> = {
    route: (failures) =>
      billing.route({
        method: 'GET',
        path: '/two',
        scope: 'bills:read',
        summary: 'x',
        failures,
        handle: () => undefined,
      }),
    rule: (failures) => bills.rule('create', () => {}, { failures }),
    action: (failures) => bills.action('void', { scope: 'bills:write', failures }),
  }
  for (const [word, call] of Object.entries(calls)) {
    for (const entry of given) {
      assert.throws(() => call([entry] as never), /failures: there is no code /, word)
    }
    assert.throws(() => call('conflict' as never), /failures is an array/, word)
  }
})
