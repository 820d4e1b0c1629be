/** §6.31: a row that a check rejects is 422, also if the bound of a computed field rejects it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, type Reply } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const DAY_MS = 86_400_000
const nightsOf = (row: { first: string; last: string }) =>
  Math.round((Date.parse(row.last) - Date.parse(row.first)) / DAY_MS)

const access = { read: 's:read', create: 's:write', update: 's:write', delete: false } as const

const declare = (sample: (n: number) => { first: string; last: string }) => {
  const stays = resource('stays', {
    fields: {
      id: f.id(),
      first: f.date(),
      last: f.date(),
      guest: f.string().max(20).default('none'),
      nights: f.computed(f.int().min(1).max(30)).stored(),
      initial: f.computed(f.string()),
    },
    list: { filter: ['nights'], sort: [] },
    access,
    events: ['stay.created', 'stay.updated'],
  })
    .check('guest_has_initial', (row) => row.initial !== '-', 'the initial is none')
    .check('in_order', (row) => row.last > row.first, 'last is not after first')
    .check('short', (row) => row.nights !== 20, 'twenty nights are none')
    .compute('nights', nightsOf)
    .compute('initial', (row) => {
      if (row.guest === 'fail') throw new Error('no initial')
      return row.guest.slice(0, 1)
    })
  return service({
    name: 'inn',
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
    resources: [
      stays.sample(sample).before('v2', {
        why: 'The first day is first.',
        had: { begin: f.date() },
        hadNot: ['first'],
        up: ({ begin }) => ({ first: begin }),
        down: ({ first }) => ({ begin: first }),
        renamed: { begin: 'first' },
      }),
    ],
  })
}
const INN = { service: declare(() => ({ first: '2026-06-01', last: '2026-06-03' })) }
const path = '/api/v2/stays'

const mistakesOf = ({ status, body }: Reply) => [
  status,
  ...(body.errors ?? []).map(
    ({ code, pointer }: { code: string; pointer: string }) => `${code} ${pointer}`,
  ),
]

eachService(
  'a check rejects the row before the bound of a computed field, on every path',
  async ({ get, post, patch }) => {
    const order = ['in_order /last', 'in_order /first']
    const inverse = { first: '2026-06-03', last: '2026-06-01' }
    assert.deepEqual(mistakesOf(await post(path, inverse)), [422, ...order])
    assert.equal((await post(path, { first: '2026-06-01', last: '2026-06-03' })).status, 201)
    const changed = await patch(`${path}/1`, { last: '2026-05-01' })
    assert.deepEqual(mistakesOf(changed), [422, ...order])
    const old = await post('/api/v1/stays', { begin: '2026-06-03', last: '2026-06-01' })
    assert.deepEqual(mistakesOf(old), [422, 'in_order /last', 'in_order /begin'])
    const thrown = await post(path, { ...inverse, guest: 'fail' })
    assert.deepEqual(mistakesOf(thrown), [422, ...order])
    assert.equal((await get(`${path}?pagination=page`)).body.total, 1)
    assert.equal((await get('/events?pagination=page')).body.total, 1)
  },
  INN,
)

eachService(
  'the pointers of a check name the inputs of a computed field',
  async ({ post }) => {
    const twenty = await post(path, { first: '2026-06-01', last: '2026-06-21' })
    assert.deepEqual(mistakesOf(twenty), [422, 'short /last', 'short /first'])
    assert.match(twenty.body.message, /^last: twenty nights are none/)
    const dash = await post(path, { first: '2026-06-01', last: '2026-06-02', guest: '-' })
    assert.deepEqual(mistakesOf(dash), [422, 'guest_has_initial /guest'])
  },
  INN,
)

eachService(
  'a value beyond its bound that no check rejects is 500',
  async ({ get, post }) => {
    const body = { first: '2026-06-01', last: '2026-08-01' }
    assert.equal((await post(path, body)).status, 500)
    const thrown = await post(path, { ...body, last: '2026-06-02', guest: 'fail' })
    assert.equal(thrown.status, 500)
    assert.deepEqual((await get(path)).body.data, [])
  },
  INN,
)

test('the start names .sample() if the computed fields of a sample row are impossible', () => {
  const tallies = resource('tallies', {
    fields: { id: f.id(), n: f.int(), sum: f.computed(f.int().max(9)) },
    list: { filter: [], sort: [] },
    access,
    events: [],
  }).compute('sum', (row) => row.n + 10)
  const versions = { v1: { released: '2025-01-01' } }
  assert.throws(
    () => service({ name: 'inn', versions, resources: [tallies] }),
    /compute\('sum'\): must be at most 9 .*declare possible values/,
  )
  assert.throws(
    () => declare(() => ({ first: '2026-06-01', last: '2026-06-01' })),
    /compute\('nights'\): must be at least 1 .*the row of \.sample\(\)/,
  )
})
