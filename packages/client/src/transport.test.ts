/**
 * Retries, time limits, token renewal and deprecation notices over real HTTP; pauses are not slept.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type Answer, type Seen, serve } from '../test/service.ts'
import { type ClientOptions, createClient, type DeprecationNotice, type Tokens } from './client.ts'

/** A client of a service that gives these answers in turn, then 200; with the pauses it took. */
async function scripted(t: TestContext, answers: Answer[], more: Partial<ClientOptions> = {}) {
  const service = await serve(t, () => answers.shift() ?? { body: { id: 1 } })
  const pauses: number[] = []
  const client = createClient({
    baseUrl: service.baseUrl,
    sleep: async (ms) => void pauses.push(ms),
    random: () => 0,
    ...more,
  } as ClientOptions)
  return { ...service, client, orders: client.collection('orders'), pauses }
}

const refused = (status: number, error: string, headers = {}): Answer => ({
  status,
  headers,
  body: { error, message: error },
})

test('transient failures are tried again with growing pauses and one key', async (t) => {
  const { orders, seen, pauses } = await scripted(t, [
    { hangUp: true },
    refused(503, 'shutting_down'),
    refused(429, 'rate_limited'),
  ])
  assert.deepEqual(await orders.create({ amount: 1 }), { id: 1 })
  assert.deepEqual(pauses, [125, 250, 500])
  assert.equal(seen.length, 4)
  const keys = new Set(seen.map(({ headers }) => headers['idempotency-key']))
  assert.equal(keys.size, 1)
  assert.match(String([...keys][0]), /^[0-9a-f-]{36}$/)
})

test('another call has another key, and the caller’s own key is kept', async (t) => {
  const { orders, seen } = await scripted(t, [])
  await orders.create({})
  await orders.create({})
  await orders.update(1, {}, { idempotencyKey: 'mine' })
  const keys = seen.map(({ headers }) => headers['idempotency-key'])
  assert.equal(new Set(keys).size, 3)
  assert.equal(keys[2], 'mine')
})

test('Retry-After is waited for, in seconds and as a date', async (t) => {
  const past = new Date(0).toUTCString()
  const { orders, pauses } = await scripted(t, [
    refused(409, 'idempotency_in_progress', { 'retry-after': '2' }),
    refused(503, 'shutting_down', { 'retry-after': past }),
  ])
  await orders.create({})
  assert.deepEqual(pauses, [2000, 0])
})

test('a longer Retry-After than the client waits is given to the caller', async (t) => {
  const answers = [refused(429, 'rate_limited', { 'retry-after': '61' })]
  const { orders, pauses, seen } = await scripted(t, answers)
  await assert.rejects(orders.get(1), { code: 'rate_limited', retryAfter: 61 })
  assert.deepEqual([pauses, seen.length], [[], 1])
})

test('what another attempt cannot change is not tried again', async (t) => {
  for (const [status, code] of [
    [400, 'invalid_parameter'],
    [401, 'unauthorized'],
    [404, 'not_found'],
    [409, 'conflict'],
    [410, 'api_version_brownout'],
    [422, 'validation_failed'],
    [500, 'internal_error'],
  ] as const) {
    const { orders, seen, pauses } = await scripted(t, [refused(status, code)])
    await assert.rejects(orders.create({}), { status, code })
    assert.deepEqual([seen.length, pauses], [1, []])
  }
})

test('the attempts are bounded, and the last failure is told', async (t) => {
  const down = Array.from({ length: 9 }, () => ({ hangUp: true }))
  const { orders, seen } = await scripted(t, down, { retries: 2 })
  await assert.rejects(orders.get(1), { code: 'network_error', status: 0 })
  assert.equal(seen.length, 3)
  const none = await scripted(t, [{ hangUp: true }], { retries: 0 })
  await assert.rejects(none.orders.get(1), { code: 'network_error' })
  assert.equal(none.seen.length, 1)
})

test('an attempt without an answer ends by the time limit and is tried again', async () => {
  let calls = 0
  const never = (signal: AbortSignal) =>
    new Promise<Response>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  const fetch: typeof globalThis.fetch = async (_, init) =>
    ++calls === 2 ? Response.json({ id: 1 }) : await never(init!.signal!)
  const sleep = async () => {}
  const client = createClient({ baseUrl: 'https://api.example.com', fetch, sleep, timeoutMs: 1 })
  const orders = client.collection('orders')
  assert.deepEqual(await orders.get(1), { id: 1 })
  assert.equal(calls, 2)
  await assert.rejects(orders.get(1, { timeoutMs: 2 }), { code: 'timeout', status: 0 })
  assert.equal(calls, 6)
})

test('the caller’s signal ends a call, a pause included, with its own reason', async (t) => {
  const asked = Promise.withResolvers<void>()
  const { baseUrl } = await serve(t, () => {
    asked.resolve()
    return { silent: true }
  })
  const reason = new Error('changed my mind')
  const running = new AbortController()
  const call = createClient({ baseUrl }).collection('orders').get(1, { signal: running.signal })
  await asked.promise
  running.abort(reason)
  await assert.rejects(call, reason)

  const pausing = new AbortController()
  const pause = Promise.withResolvers<void>()
  const random = () => {
    pause.resolve()
    return 0
  }
  const answers = [refused(503, 'shutting_down', { 'retry-after': '60' })]
  const real = await scripted(t, answers, { sleep: undefined, random })
  const waiting = real.orders.get(1, { signal: pausing.signal })
  await pause.promise
  pausing.abort(reason)
  await assert.rejects(waiting, reason)
  assert.equal(real.seen.length, 1)
  await assert.rejects(real.orders.get(1, { signal: pausing.signal }), reason)
  assert.equal(real.seen.length, 1)
})

/** Rules §4.2, §4.4: access tokens `a<n>` of which the newest is good; refresh tokens work once. */
function tokenService(t: TestContext) {
  let issued = 0
  const refreshes: unknown[] = []
  const service = serve(t, async ({ url, headers, body }: Seen) => {
    if (url.pathname === '/auth/refresh') {
      const { refresh_token } = body as { refresh_token: string }
      refreshes.push(refresh_token)
      await setImmediate()
      if (refresh_token !== `r${issued}`) return refused(401, 'invalid_grant')
      issued++
      const tokens = { access_token: `a${issued}`, refresh_token: `r${issued}`, expires_in: 900 }
      return { body: { ...tokens, token_type: 'Bearer', scope: 'orders:read' } }
    }
    if (headers.authorization !== `Bearer a${issued}`) return refused(401, 'invalid_token')
    return { body: { token: headers.authorization } }
  })
  const expire = () => issued++
  return { service, refreshes, expire }
}

test('an expired token is renewed once for all calls that wait, and told first', async (t) => {
  const { service, refreshes } = tokenService(t)
  const { baseUrl, seen } = await service
  const told: Tokens[] = []
  const onTokens = (tokens: Tokens) => void told.push(tokens)
  const client = createClient({ baseUrl, token: 'expired', refreshToken: 'r0', onTokens })
  const orders = client.collection<{ token: string }>('orders')
  const answers = await Promise.all([1, 2, 3, 4, 5].map((id) => orders.get(id)))
  assert.ok(answers.every(({ token }) => token === 'Bearer a1'))
  assert.deepEqual(refreshes, ['r0'])
  assert.deepEqual(told, [{ accessToken: 'a1', refreshToken: 'r1', expiresIn: 900 }])
  const refresh = seen.find(({ url }) => url.pathname === '/auth/refresh')!
  assert.equal(refresh.headers.authorization, undefined)
})

test('a call refused after another has renewed takes that token, and renews nothing', async (t) => {
  const renewed = Promise.withResolvers<void>()
  const refreshes: unknown[] = []
  const { baseUrl } = await serve(t, async ({ url, headers, body }) => {
    if (url.pathname === '/auth/refresh') {
      refreshes.push(body)
      return { body: { access_token: 'a1', refresh_token: 'r1' } }
    }
    if (headers.authorization === 'Bearer a1') return { body: { id: 1 } }
    if (url.pathname.endsWith('/2')) await renewed.promise
    return refused(401, 'invalid_token')
  })
  const orders = createClient({ baseUrl, token: 'a0', refreshToken: 'r0' }).collection('orders')
  const late = orders.get(2)
  await orders.get(1)
  renewed.resolve()
  assert.deepEqual(await late, { id: 1 })
  assert.deepEqual(refreshes, [{ refresh_token: 'r0' }])
})

test('a refresh token alone is enough, and is used once', async (t) => {
  const { service, refreshes } = tokenService(t)
  const { baseUrl } = await service
  const orders = createClient({ baseUrl, refreshToken: 'r0' }).collection<unknown>('orders')
  assert.deepEqual(await orders.get(1), { token: 'Bearer a1' })
  assert.deepEqual(await orders.get(1), { token: 'Bearer a1' })
  assert.deepEqual(refreshes, ['r0'])
})

test('a dead refresh token is the caller’s error, and is not shown a second time', async (t) => {
  const { service, refreshes, expire } = tokenService(t)
  const { baseUrl } = await service
  const orders = createClient({ baseUrl, refreshToken: 'r0' }).collection('orders')
  await orders.get(1)
  expire()
  await assert.rejects(orders.get(1), { code: 'invalid_grant', status: 401 })
  await assert.rejects(orders.get(1), { code: 'invalid_token', status: 401 })
  assert.deepEqual(refreshes, ['r0', 'r1'])
})

test('a token that cannot be renewed is an error at once', async (t) => {
  const { orders, seen } = await scripted(t, [refused(401, 'invalid_token')], { token: 'expired' })
  await assert.rejects(orders.get(1), { code: 'invalid_token' })
  assert.equal(seen.length, 1)
})

test('a renewal that the network loses is tried again with the call', async (t) => {
  const tokens = { access_token: 'a1', refresh_token: 'r1', expires_in: 900 }
  const answers = [refused(401, 'invalid_token'), { hangUp: true }]
  const again = [refused(401, 'invalid_token'), { body: tokens }]
  const { orders, seen, pauses } = await scripted(t, [...answers, ...again], {
    token: 'expired',
    refreshToken: 'r0',
  })
  assert.deepEqual(await orders.create({ amount: 1 }), { id: 1 })
  assert.deepEqual(pauses, [125])
  const creates = seen.filter(({ url }) => url.pathname === '/api/orders')
  assert.equal(creates.at(-1)?.headers.authorization, 'Bearer a1')
  assert.equal(new Set(creates.map(({ headers }) => headers['idempotency-key'])).size, 1)
})

test('deprecation is told once per version, from headers and warnings', async (t) => {
  const headers = {
    'x-api-version': 'v1',
    deprecation: '@1767225600',
    sunset: 'Wed, 01 Jul 2026 00:00:00 GMT',
    link: '</docs/v2>; rel="successor-version", <https://x.example/guide>; rel="deprecation"',
  }
  const warning = { type: 'deprecation', message: 'v1 ends.', migration_guide: '/guide' }
  const notices: DeprecationNotice[] = []
  const { orders } = await scripted(
    t,
    [
      { headers: { 'x-api-version': 'v2' }, body: { id: 1 } },
      { headers, body: { id: 1, _warnings: [{ type: 'other' }, warning] } },
      { headers, body: { id: 1 } },
      { headers: { 'x-api-version': 'v0', deprecation: '@0' }, body: { id: 1 } },
      { body: { id: 1, _warnings: [{ ...warning, sunset: '2027-01-01' }] } },
    ],
    { version: 'v3', onDeprecation: (notice) => void notices.push(notice) },
  )
  for (const _ of [1, 2, 3, 4, 5]) await orders.get(1)
  const [first, ...others] = notices
  assert.deepEqual(first, {
    version: 'v1',
    deprecatedAt: new Date('2026-01-01'),
    sunset: new Date('2026-07-01'),
    message: 'v1 ends.',
    link: 'https://x.example/guide',
  })
  assert.deepEqual(
    others.map(({ version, sunset, link, message }) => [version, sunset, link, message]),
    [
      ['v0', undefined, undefined, 'API version v0 is deprecated.'],
      ['v3', new Date('2027-01-01'), '/guide', 'v1 ends.'],
    ],
  )
})

test('errors of a deprecated version tell it too', async (t) => {
  const notices: string[] = []
  const { orders } = await scripted(t, [refused(404, 'not_found', { deprecation: '@0' })], {
    version: 'v1',
    onDeprecation: ({ version }) => void notices.push(version),
  })
  await assert.rejects(orders.get(1), { code: 'not_found' })
  assert.deepEqual(notices, ['v1'])
})

test('fetch is an argument', async () => {
  const calls: unknown[] = []
  const fetch: typeof globalThis.fetch = async (url, init) => {
    calls.push([url, init?.redirect])
    return Response.json({ id: 1 })
  }
  await createClient({ baseUrl: 'https://api.example.com', fetch }).collection('orders').get(1)
  assert.deepEqual(calls, [['https://api.example.com/api/orders/1', 'manual']])
})
