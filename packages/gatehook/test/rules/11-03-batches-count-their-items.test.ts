/** §11.3: for the request limit, a batch counts as many requests as it has items. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { eachService, openService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { createLocalLimiter } from '../../src/protocol/quota/limiter.ts'
import { createSharedLimiter, type DrawRequests } from '../../src/protocol/quota/shared-limiter.ts'

const notes = resource('notes', {
  fields: { id: f.id(), name: f.string().max(20) },
  list: { filter: [], sort: [] },
  access: { read: 'notes:read', create: 'notes:write', update: false, delete: false },
  events: ['note.created'],
  batch: true,
})
const versions = { v1: { released: '2025-01-01' } }
const desk = service({ name: 'desk', versions, resources: [notes] })
const limited = (rate: string) => ({
  service: desk,
  env: { GATEHOOK_TEST_CLOCK: '1', GATEHOOK_RATE_LIMIT: rate },
})

const batchOf = (count: number) => ({ items: Array.from({ length: count }, () => ({ name: 'a' })) })
const sendBatch = ({ post }: Pick<TestApp, 'post'>, count: number, headers = {}) =>
  post('/api/v1/notes/batch', batchOf(count), headers)
const left = ({ headers }: Reply) => Number(/r=(\d+)/.exec(headers.ratelimit!)![1])
type Draw = Parameters<DrawRequests>[3]
const actor = { kind: 'test', id: 't' } as never

eachService(
  'a batch that does not fit is 429, creates nothing and counts as one request',
  async (app) => {
    await app.app.clock!.set({ advance_s: 0, freeze: true }, actor)
    const first = await sendBatch(app, 6)
    assert.deepEqual([first.status, left(first)], [200, 14])
    const rejected = await sendBatch(app, 15)
    assert.deepEqual([rejected.status, rejected.body.error], [429, 'rate_limited'])
    const second = await sendBatch(app, 10)
    assert.deepEqual([second.status, left(second)], [200, 3])
    const single = await app.post('/api/v1/notes', { name: 'b' })
    assert.deepEqual([single.status, left(single)], [201, 2])
    const list = await app.get('/api/v1/notes?pagination=page')
    assert.deepEqual([list.body.total, left(list)], [17, 1])
  },
  limited('20/60'),
)

eachService(
  'after Retry-After the batch fits, beside the rejected request',
  async (app) => {
    for (const [count, expectedS] of [
      [18, 50],
      [19, 60],
    ] as const) {
      const caller = app.as(await app.key()) as TestApp
      await app.app.clock!.set({ advance_s: 0, freeze: true }, actor)
      await sendBatch(caller, 15)
      await app.app.clock!.set({ advance_s: 10, freeze: true }, actor)
      await caller.get('/api/v1/notes')
      const rejected = await sendBatch(caller, count)
      const wait = Number(rejected.headers['retry-after'])
      assert.deepEqual([rejected.status, wait], [429, expectedS], `${count} items`)
      await app.app.clock!.set({ advance_s: wait, freeze: true }, actor)
      assert.equal((await sendBatch(caller, count)).status, 200, `${count} items`)
    }
  },
  limited('20/60'),
)

eachService(
  'rejected batches use up the limit: then their bodies are not read',
  async (app) => {
    await app.app.clock!.set({ advance_s: 0, freeze: true }, actor)
    await sendBatch(app, 5)
    for (const count of [16, 21, 16, 21]) assert.equal((await sendBatch(app, count)).status, 429)
    assert.equal(left(await app.get('/api/v1/notes')), 10)
    const statuses = []
    for (let n = 0; n < 12; n++) {
      statuses.push((await app.post('/api/v1/notes/batch', { items: 'x' })).status)
    }
    assert.deepEqual(statuses, [...Array(10).fill(422), 429, 429])
  },
  limited('20/60'),
)

eachService(
  'a batch larger than the limit is 429 and names the items that fit',
  async (app) => {
    const rejected = await sendBatch(app, 21)
    assert.equal(rejected.status, 429)
    assert.match(rejected.body.message, /at most 20 items/)
    assert.ok(Number(rejected.headers['retry-after']) >= 1)
    assert.equal(left(await app.get('/api/v1/notes')), 18, 'the request itself was counted')
  },
  limited('20/60'),
)

eachService(
  'the total of a customer counts the items, too',
  async (app) => {
    await app.app.clock!.set({ advance_s: 0, freeze: true }, actor)
    const admin = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
    const limits = { total_rate_limit: { limit: 29, window_s: 60 } }
    const changed = await admin.patch('/admin/customers/cus_default', { limits })
    assert.equal(changed.status, 200, changed.text)
    const others = [app.as(await app.key()), app.as(await app.key())]
    const statuses = []
    for (const caller of [...others, ...others]) {
      statuses.push((await sendBatch(caller as TestApp, 10)).status)
    }
    assert.deepEqual(statuses, [200, 200, 429, 429])
  },
  limited('20/60'),
)

eachService(
  'an invalid envelope and a dry run count as they work',
  async (app) => {
    await app.app.clock!.set({ advance_s: 0, freeze: true }, actor)
    assert.equal((await app.post('/api/v1/notes/batch', { items: 'x' })).status, 422)
    assert.equal(left(await app.get('/api/v1/notes')), 18)
    const rehearsed = await sendBatch(app, 8, { prefer: 'dry-run' })
    assert.deepEqual([rehearsed.status, left(rehearsed)], [200, 10])
  },
  limited('20/60'),
)

eachService(
  'without a limit a batch has no limit headers',
  async (app) => {
    const { status, headers } = await sendBatch(app, 100)
    assert.deepEqual([status, headers.ratelimit], [200, undefined])
  },
  { service: desk },
)

test('batches on two nodes stay within the limit, and use it', async (t) => {
  const url = await freshUrl(t, 'postgres')
  const options = { ...limited('100/3600'), url }
  const first = await openService(t, 'postgres', options)
  const second = await openService(t, 'postgres', options)
  const key = await first.key()
  const nodes = [first.as(key), second.as(key)]
  let created = 0
  for (let round = 0; round < 30; round++) {
    const { status } = await sendBatch(nodes[round % 2] as TestApp, 7)
    assert.ok(status === 200 || status === 429)
    if (status === 200) created += 7
  }
  assert.ok(created >= 80 && created <= 100, `${created} of 100`)
})

test('no window exceeds the limit by requests of several counts, on either limiter', async () => {
  const given = fc.record({
    limit: fc.integer({ min: 1, max: 120 }),
    steps: fc.array(
      fc.record({
        ms: fc.integer({ min: 0, max: 700 }),
        share: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
      { maxLength: 100 },
    ),
  })
  await fc.assert(
    fc.asyncProperty(given, async ({ limit, steps }) => {
      const rate = { limit, windowMs: 1000 }
      let now = 1_800_000_000_000
      const clock = { now: () => now, elapsedMs: () => 0 }
      const database = createLocalLimiter(clock)
      const drawn: { at: number; count: number }[] = []
      const draw = async (_key: string, _rate: object, at: number, { least, most }: Draw) => {
        const current = drawn.filter((use) => use.at > at - rate.windowMs)
        const used = current.reduce((sum, use) => sum + use.count, 0)
        const granted = limit - used < least ? 0 : Math.min(most, limit - used)
        if (granted > 0) drawn.push({ at, count: granted })
        const slices = [...current, ...(granted > 0 ? [{ at, count: granted }] : [])]
        return {
          granted,
          slices: slices.map((use, no) => ({
            no,
            used: use.count,
            lastMs: use.at,
          })),
        }
      }
      // A node spends a block, a fiftieth of the limit, up to one window after it drew it.
      const slack = Math.ceil(limit / 50)
      for (const limiter of [database, createSharedLimiter(clock, draw)]) {
        const allowed: { at: number; count: number }[] = []
        for (const { ms, share } of steps) {
          now += ms
          const count = 1 + Math.floor(share * (limit - 1))
          const verdict = await limiter.take([{ key: 'k', rate }], count)
          if (!verdict.allowed) {
            assert.ok(verdict.resetMs > 0 && verdict.resetMs <= rate.windowMs * 1.05)
            continue
          }
          allowed.push({ at: now, count })
          const within = allowed.filter(({ at }) => at > now - rate.windowMs)
          const sum = within.reduce((total, use) => total + use.count, 0)
          assert.ok(sum <= limit + slack, `${sum} of ${limit}`)
        }
      }
    }),
    { seed: 1103, numRuns: 300 },
  )
})
