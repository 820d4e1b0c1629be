/**
 * Thousands of list requests made of nonsense, on both databases: 200, or a refusal whose code is known and
 * that names the parameter at fault; never a 500, and nothing is changed. The seed stands in the failure.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { eachService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import { all, everyList, idsOf, type ListPath, links, ok } from './rows.ts'

const SEED = 20_261_121
const REQUESTS = 5_000

const known = ['limit', 'offset', 'after_id', 'page', 'per_page', 'cursor', 'pagination', 'sort']
known.push('fields', 'id', 'name', 'email', 'created_at', 'amount', 'status', 'user_id', 'currency')
known.push('type', 'created', 'customer', 'mode', 'suspended', 'expires_at', 'at', 'action')

const operators = ['', '', '', '[gt]', '[gte]', '[lt]', '[lte]', '[ne]', '[in]', '[eq]', '[]']
operators.push(
  '[',
  '[like]',
  '[GT]',
  '[__proto__]',
  '[constructor]',
  '[gt][lt]',
  '.gt',
  '%00',
  '%20',
)

const prototype = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype', 'valueOf']

const sqlish = [
  "' OR '1'='1",
  '1; DROP TABLE users',
  'id DESC',
  '(SELECT 1)',
  '1--',
  '1 OR 1=1',
  '"id"',
]
sqlish.push(
  '$1',
  '?',
  '?1',
  ':a',
  '@a',
  '%',
  '_',
  '\\',
  "''",
  'NULL',
  'id) UNION SELECT 1,2,3,4 --',
)

const numbers = [
  '',
  '0',
  '1',
  '2',
  '3',
  '100',
  '101',
  '-1',
  '-0',
  '+1',
  ' 1',
  '1 ',
  '01',
  '1.0',
  '1e2',
]
numbers.push(
  '0x10',
  '0b1',
  '1_0',
  '١',
  '１',
  '²',
  'NaN',
  'Infinity',
  '-Infinity',
  '9007199254740991',
)
numbers.push(
  '9007199254740992',
  '-9007199254740992',
  '9'.repeat(30),
  `1${'0'.repeat(309)}`,
  '1,2',
  'true',
)

const texts = [
  'a',
  'ada@example.com',
  'paid',
  'EUR',
  'live',
  'default',
  'cus_default',
  'user.created',
]
texts.push(
  '2026-01-01',
  '2026-02-30',
  '2026-01-01T00:00:00Z',
  '0000-00-00',
  '+275760-09-13T00:00:00Z',
)
texts.push(
  'é',
  '😀',
  '\u202e',
  '\ufeff',
  '\u0001',
  '\r\n',
  '\u007f',
  ',',
  ',,',
  '-',
  '--id',
  '-id,',
  ';',
)
texts.push(
  '<script>',
  '>; rel="next"',
  '"',
  '{}',
  '[]',
  'x'.repeat(3000),
  'id,'.repeat(800),
  ...sqlish,
)

/** What cannot be written as text: broken escapes, NUL, bytes that are not UTF-8. */
const raw = [
  '%',
  '%4',
  '%zz',
  '%00',
  '%c3',
  '%ff%fe',
  '%ed%a0%80',
  'a%00b',
  '%25%30%30',
  '=',
  '==',
  '+',
  '%2B',
]

const one = (pool: readonly string[]) => fc.constantFrom(...pool)
const encoded = (text: fc.Arbitrary<string>) =>
  text.map((value) => encodeURIComponent(value.toWellFormed()))

const name = fc.oneof(
  {
    arbitrary: fc.tuple(one(known), one(operators)).map(([field, tail]) => field + tail),
    weight: 12,
  },
  {
    arbitrary: fc.tuple(one(prototype), one(operators)).map(([field, tail]) => field + tail),
    weight: 2,
  },
  {
    arbitrary: fc.oneof(encoded(one(texts)), encoded(fc.string({ unit: 'binary' })), one(raw)),
    weight: 2,
  },
)

const columns = one([...known, ...prototype, '', 'scope', 'rowid', 'ctid', 'no', 'position', '*'])
const listed = fc
  .array(fc.tuple(one(['', '', '-', '+', '--']), columns), { maxLength: 12 })
  .map((parts) => parts.map((part) => part.join('')).join(','))

const value = (cursors: readonly string[]) =>
  fc.oneof(
    encoded(fc.oneof(one(numbers), one(texts), listed, one(prototype), one(cursors))),
    encoded(one(['offset', 'cursor', 'keyset', 'page', 'hypermedia'])),
    encoded(fc.string({ unit: 'binary', maxLength: 40 })),
    encoded(fc.array(one(numbers), { maxLength: 120 }).map((parts) => parts.join(','))),
    one(raw),
  )

/** What some list takes, so that nonsense also comes in good company. */
const fitting = one([
  ...[
    'limit=1',
    'limit=100',
    'page=1',
    'page=2',
    'per_page=3',
    'offset=0',
    'offset=2',
    'after_id=1',
  ],
  ...['sort=-id', 'sort=id', 'sort=-created_at,id', 'sort=name', 'fields=id', 'pagination=offset'],
  ...['pagination=hypermedia', 'id[gt]=2', 'id[ne]=3', 'id[in]=1,2,3', 'name[ne]=x', 'name[lt]=z'],
  ...[
    'created_at[gt]=2020-01-01',
    'amount[lte]=4',
    'status[ne]=paid',
    'note=',
    'type=user.created',
  ],
])

const nonsense = (cursors: readonly string[]) =>
  fc
    .tuple(name, fc.option(value(cursors), { freq: 12 }))
    .map(([key, text]) => (text === null ? key : `${key}=${text}`))

const search = (cursors: readonly string[]) =>
  fc
    .array(
      fc.oneof({ arbitrary: fitting, weight: 3 }, { arbitrary: nonsense(cursors), weight: 2 }),
      { minLength: 1, maxLength: 4 },
    )
    .map((pairs) => pairs.join('&'))

const codes = ['invalid_parameter', 'unknown_parameter', 'pagination_conflict', 'invalid_cursor']
codes.push('cursor_mismatch', 'offset_too_large')

/** Parameter names as they were sent, in any spelling. */
function sentNames(query: string): Set<string> {
  const names = query.split('&').map((part) => part.replace(/=.*$/s, ''))
  return new Set(names.map((one) => decodeURIComponent(one.replaceAll('+', ' '))))
}

function judge(reply: Reply, query: string): void {
  if (reply.status === 200) {
    assert.ok(Array.isArray(reply.body.data))
    links(reply)
    return
  }
  if (reply.status === 414) return
  assert.equal(reply.status, 400)
  assert.ok(codes.includes(reply.body.error), reply.body.error)
  // A query that cannot be decoded has no names to tell.
  if (reply.body.errors === undefined) {
    assert.match(reply.body.message, /^The query string is not valid/)
    return
  }
  assert.ok(reply.body.errors.length > 0)
  const names = sentNames(query)
  for (const { parameter, code, message } of reply.body.errors) {
    assert.ok(names.has(parameter), `it names ${parameter}`)
    assert.equal(code, reply.body.error)
    assert.ok(message.length > 0)
  }
}

/** Everything that a list request could have changed. */
async function state({ app }: TestApp): Promise<unknown> {
  const tables = ['users', 'orders', 'gh_events', 'gh_customers', 'gh_audit', 'gh_counters']
  const rows: unknown[] = []
  for (const table of tables)
    rows.push(await all(app.db, `SELECT * FROM ${table} ORDER BY 1, 2, 3`))
  return rows
}

eachService('nonsense in every parameter of every list', async (service) => {
  const lists = await everyList(service)
  const cursors = ['', 'A', 'eyJpZCI6MX0', 'eyJpZCI6MX0=']
  for (const { path, caller } of lists) {
    cursors.push((await ok(caller.get(`${path}?limit=1`))).body.next_cursor)
  }
  const before = await state(service)
  const statuses = new Map<number, number>()
  const attempts = fc.sample(fc.tuple(fc.nat(lists.length - 1), search(cursors)), {
    seed: SEED,
    numRuns: REQUESTS,
  })
  for (const [at, query] of attempts) {
    const { path, caller } = lists[at]!
    const reply = await caller.get(`${path}?${query}`)
    statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1)
    try {
      judge(reply, query)
    } catch (error) {
      throw new Error(`seed ${SEED}: GET ${path}?${query}\n${reply.text}`, { cause: error })
    }
  }
  // The nonsense is of use only where some of it gets through.
  assert.ok((statuses.get(200) ?? 0) > REQUESTS / 50, `200 to ${statuses.get(200)} requests`)
  assert.ok((statuses.get(400) ?? 0) > REQUESTS / 2)
  assert.deepEqual(await state(service), before)
})

/** Every parameter by itself with every kind of nonsense: what gets through is all there is. */
const parameters = [
  'limit',
  'per_page',
  'page',
  'offset',
  'after_id',
  'cursor',
  'pagination',
  'sort',
  'fields',
]

eachService('each parameter with each kind of nonsense', async (service) => {
  const lists: readonly ListPath[] = await everyList(service)
  const before = await state(service)
  for (const parameter of [...parameters, 'id', 'user_id[in]', 'amount[gte]', 'created_at[lt]']) {
    for (const text of [...numbers, ...texts, ...prototype]) {
      const query = `${encodeURIComponent(parameter)}=${encodeURIComponent(text)}`
      const { path, caller } = lists.find((list) => list.path === '/api/v2/orders')!
      const reply = await caller.get(`${path}?${query}`)
      judge(reply, query)
      if (reply.status === 200 && parameter === 'limit') {
        assert.ok(idsOf(reply).length <= Number(text), text)
      }
    }
  }
  assert.deepEqual(await state(service), before)
})
