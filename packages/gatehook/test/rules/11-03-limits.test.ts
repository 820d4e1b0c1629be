/**
 * §11.3: a sliding window per credential, or per address without one; every response states the
 * remaining requests.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { eachMigrated, freshUrl } from '../../../../test/rig/databases.ts'
import {
  type Caller,
  eachService,
  openService,
  type Reply,
  type TestApp,
} from '../../../../test/rig/service.ts'
import { createLocalLimiter } from '../../src/protocol/quota/limiter.ts'
import {
  createLocalDraw,
  createSharedLimiter,
  type DrawRequests,
} from '../../src/protocol/quota/shared-limiter.ts'
import { createDraw } from '../../src/protocol/quota/store.ts'
import { sumUsed } from '../../src/protocol/quota/window.ts'

const actor = { kind: 'test', id: 't' } as never
const env = { GATEHOOK_TEST_CLOCK: '1', GATEHOOK_RATE_LIMIT: '5/60' }
const advance = ({ app }: TestApp, advance_s: number) =>
  app.clock!.set({ advance_s, freeze: true }, actor)

const left = ({ headers }: Reply) =>
  /^"default";r=(\d+);t=(\d+)$/.exec(headers.ratelimit!)!.slice(1).map(Number)

eachService(
  'the headers count down, then 429 with the correct Retry-After',
  async (service) => {
    const { get } = service
    await advance(service, 0)
    for (const remaining of [4, 3, 2, 1, 0]) {
      const reply = await get('/api/v2/users')
      assert.equal(reply.status, 200)
      assert.equal(reply.headers['ratelimit-policy'], '"default";q=5;w=60')
      assert.equal(left(reply)[0], remaining)
    }
    const refused = await get('/api/v2/users')
    assert.deepEqual([refused.status, refused.body.error], [429, 'rate_limited'])
    assert.equal(left(refused)[0], 0)
    const wait = Number(refused.headers['retry-after'])
    assert.ok(wait >= 1 && wait <= 60, String(wait))
    assert.equal(left(refused)[1], wait)
    await advance(service, wait - 1)
    assert.equal((await get('/api/v2/users')).status, 429)
    await advance(service, 1)
    assert.equal((await get('/api/v2/users')).status, 200)
  },
  { env },
)

eachService(
  'each credential has its own limit; unauthenticated requests share that of the address',
  async ({ get, as, key }) => {
    const other = as(await key())
    const drain = async (caller: Caller, path: string) => {
      const statuses = []
      for (let n = 0; n < 6; n++) statuses.push((await caller.get(path)).status)
      return statuses
    }
    assert.deepEqual(
      await drain({ get } as Caller, '/api/v2/users'),
      [200, 200, 200, 200, 200, 429],
    )
    assert.deepEqual(await drain(other, '/api/v2/users'), [200, 200, 200, 200, 200, 429])
    const anonymous = as(undefined)
    assert.deepEqual(await drain(anonymous, '/api/v2/users'), [401, 401, 401, 401, 401, 429])
    const wrong = as('gk_test_00000000000000000000000000000000000000')
    assert.equal(
      (await wrong.get('/api/v2/users')).status,
      429,
      'a bad key counts for its address, too',
    )
    assert.equal((await anonymous.get('/healthz')).status, 200, 'probes are not limited')
  },
  { env },
)

eachService(
  'public documents count against the address',
  async ({ as }) => {
    const anonymous = as(undefined)
    const paths = ['/', '/openapi/v1.json', '/', '/openapi/v2.json', '/', '/']
    const statuses = []
    for (const path of paths) statuses.push((await anonymous.get(path)).status)
    assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429])
  },
  { env },
)

eachService(
  'OPTIONS is not limited, because a preflight has no credential',
  async ({ as }) => {
    const anonymous = as(undefined)
    for (let n = 0; n < 6; n++) await anonymous.get('/api/v2/users')
    assert.equal((await anonymous.get('/api/v2/users')).status, 429)
    const preflightHeaders = { origin: 'https://a.example', 'access-control-request-method': 'GET' }
    const preflight = await anonymous.send('OPTIONS', '/api/v2/users', undefined, preflightHeaders)
    assert.equal(preflight.status, 204)
  },
  { env: { ...env, GATEHOOK_CORS_ORIGINS: 'https://a.example' } },
)

eachMigrated('uses of the future count neither now nor when their time comes', async (db) => {
  const draw = createDraw(db)
  const rate = { limit: 5, windowMs: 60_000 }
  const take = async (nowMs: number, most: number) => {
    const { granted, slices } = await draw('a', rate, nowMs, { least: Math.min(1, most), most })
    return { granted, used: sumUsed(slices) }
  }
  const [later, now] = [1_000_000_000_000, 999_000_000_000]
  for (const no of [0, 1, 2, 3]) {
    assert.deepEqual(await take(later + no * 5_000, 1), { granted: 1, used: no + 1 })
  }
  assert.deepEqual(await take(now, 0), { granted: 0, used: 0 })
  assert.deepEqual(await take(now, 9), { granted: 5, used: 5 })
  assert.deepEqual(await take(now + 1, 1), { granted: 0, used: 5 })
  assert.deepEqual(await take(later, 9), { granted: 5, used: 5 })
})

eachService('without a limit, there are no limit headers', async ({ get }) => {
  const { headers } = await get('/api/v2/users')
  assert.equal(headers.ratelimit ?? headers['ratelimit-policy'], undefined)
})

test('a clock that is set back rejects no caller for longer than a minute more', async () => {
  const rate = { limit: 3, windowMs: 60_000 }
  const limits = [{ key: 'a', rate }]
  const hourMs = 3_600_000
  for (const isShared of [false, true]) {
    const time = { ms: 100 * hourMs }
    const clock = { now: () => time.ms, elapsedMs: () => 0 }
    const limiter = isShared
      ? createSharedLimiter(clock, createLocalDraw())
      : createLocalLimiter(clock)
    const take = async () => (await limiter.take(limits)).allowed
    const drain = async () => [await take(), await take(), await take(), await take()]
    assert.deepEqual(await drain(), [true, true, true, false])
    time.ms -= 30_000 // nodes differ by as much
    assert.equal(await take(), false)
    time.ms -= hourMs
    assert.deepEqual(await drain(), [true, true, true, false])
    time.ms += 60_000
    assert.deepEqual(await drain(), [true, true, true, false])
  }
})

test('a node draws requests again when its clock is set back', async () => {
  const time = { ms: 1_000_000_000_000 }
  let draws = 0
  const draw = createLocalDraw()
  const count: DrawRequests = (...request) => {
    draws += 1
    return draw(...request)
  }
  const limiter = createSharedLimiter({ now: () => time.ms, elapsedMs: () => 0 }, count)
  const limits = [{ key: 'a', rate: { limit: 1_000, windowMs: 60_000 } }]
  for (const expected of [1, 1]) {
    assert.equal((await limiter.take(limits)).allowed, true)
    assert.equal(draws, expected)
  }
  time.ms -= 3_600_000
  assert.equal((await limiter.take(limits)).allowed, true)
  assert.equal(draws, 2)
})

test('no window exceeds the limit, and a rejection has the correct wait', async () => {
  const step = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 1500 }))
  const given = fc.record({
    limit: fc.integer({ min: 1, max: 12 }),
    steps: fc.array(step, { maxLength: 200 }),
  })
  await fc.assert(
    fc.asyncProperty(given, async ({ limit, steps }) => {
      const rate = { limit, windowMs: 1000 }
      let now = 1_800_000_000_000
      const limiter = createLocalLimiter({ now: () => now, elapsedMs: () => 0 })
      const allowed: number[] = []
      for (const ms of steps) {
        now += ms
        const within = allowed.filter((at) => at > now - rate.windowMs).length
        const verdict = await limiter.take([{ key: 'k', rate }])
        if (verdict.allowed) {
          allowed.push(now)
          assert.ok(within < limit, 'over the limit')
          assert.ok(verdict.remaining <= limit - within - 1)
        } else {
          const slack = allowed.filter((at) => at > now - rate.windowMs * 1.05).length
          assert.ok(slack >= limit, 'refused although there was room')
          assert.ok(verdict.resetMs > 0 && verdict.resetMs <= rate.windowMs * 1.05)
          now += verdict.resetMs
          assert.ok(
            (await limiter.take([{ key: 'k', rate }])).allowed,
            'refused again at the time it named',
          )
          allowed.push(now)
        }
      }
    }),
    { seed: 1103, numRuns: 500 },
  )
})

test('reading the rest reserves nothing, and is allowed also above a lowered limit', async () => {
  let now = 1_800_000_000_000
  const clock = { now: () => now, elapsedMs: () => 0 }
  const drawn: number[] = []
  const drawLocally = createLocalDraw()
  const draw: DrawRequests = async (...request) => {
    const result = await drawLocally(...request)
    drawn.push(result.granted)
    return result
  }
  const at = (limit: number) => [{ key: 'k', rate: { limit, windowMs: 60_000 } }]
  for (const limiter of [createLocalLimiter(clock), createSharedLimiter(clock, draw)]) {
    const read = async (limit: number) => {
      const { allowed, remaining } = await limiter.take(at(limit), 0)
      return [allowed, remaining]
    }
    for (let n = 0; n < 3; n++) assert.deepEqual(await read(100), [true, 100])
    now += 1000
    assert.deepEqual(await read(100), [true, 100])
    assert.ok(drawn.every((granted) => granted === 0))
    assert.equal((await limiter.take(at(100), 60)).allowed, true)
    assert.deepEqual(await read(100), [true, 40])
    assert.deepEqual(await read(50), [true, 0])
    assert.equal((await limiter.take(at(50), 1)).allowed, false)
    assert.deepEqual(await read(50), [true, 0])
  }
  // Another node reads the use of the first one, and again after a second.
  drawn.length = 0
  const other = createSharedLimiter(clock, draw)
  const rest = async () => (await other.take(at(100), 0)).remaining
  assert.deepEqual([await rest(), await rest(), drawn], [40, 40, [0]])
  await drawLocally('k', at(100)[0]!.rate, now, { least: 5, most: 5 })
  now += 1000
  assert.deepEqual([await rest(), drawn], [35, [0, 0]])
  assert.equal((await other.take(at(100), 1)).allowed, true)
})

test('two nodes on one PostgreSQL exceed the limit by at most a tenth', async (t) => {
  const url = await freshUrl(t, 'postgres')
  const rate = { GATEHOOK_RATE_LIMIT: '100/3600' }
  const first = await openService(t, 'postgres', { url, env: rate })
  const second = await openService(t, 'postgres', { url, env: rate })
  const key = await first.key()
  const nodes = [first.as(key), second.as(key)]
  let served = 0
  for (let round = 0; round < 30; round++) {
    const replies = await Promise.all(
      Array.from({ length: 5 }, (_, n) => nodes[n % 3 === 0 ? 0 : 1]!.get('/api/v2/users?limit=1')),
    )
    served += replies.filter(({ status }) => status === 200).length
  }
  assert.ok(served >= 90 && served <= 110, `${served} of 100`)
  for (const node of nodes) assert.equal((await node.get('/api/v2/users')).status, 429)
})
