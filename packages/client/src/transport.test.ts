/** Retries, time limits, token refresh and deprecation notices over HTTP, without real delays. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type ReceivedRequest, type ScriptedResponse, serve } from '../test/service.ts'
import { type ClientOptions, createClient, type DeprecationNotice, type Tokens } from './client.ts'

/** Opens a client of a service that sends these responses in turn, then 200; records delays. */
async function scripted(
  t: TestContext,
  responses: ScriptedResponse[],
  more: Partial<ClientOptions> = {},
) {
  const service = await serve(t, () => responses.shift() ?? { body: { id: 1 } })
  const delaysMs: number[] = []
  const client = createClient({
    baseUrl: service.baseUrl,
    sleep: async (ms) => void delaysMs.push(ms),
    random: () => 0,
    ...more,
  } as ClientOptions)
  return { ...service, client, orders: client.collection('orders'), delaysMs }
}

const errorResponse = (status: number, error: string, headers = {}): ScriptedResponse => ({
  status,
  headers,
  body: { error, message: error },
})

test('transient failures are retried with growing delays and one idempotency key', async (t) => {
  const { orders, requests, delaysMs } = await scripted(t, [
    { hangUp: true },
    errorResponse(503, 'shutting_down'),
    errorResponse(429, 'rate_limited'),
  ])
  assert.deepEqual(await orders.create({ amount: 1 }), { id: 1 })
  assert.deepEqual(delaysMs, [125, 250, 500])
  assert.equal(requests.length, 4)
  const keys = new Set(requests.map(({ headers }) => headers['idempotency-key']))
  assert.equal(keys.size, 1)
  assert.match(String([...keys][0]), /^[0-9a-f-]{36}$/)
})

test('requests send the newest position of the responses before', async (t) => {
  const positions = ['0/FF', '1/0', '0/FFFFFFFF', 'soon', '1/A']
  const { orders, requests } = await scripted(
    t,
    positions.map((position) => ({ headers: { 'gatehook-read-after': position }, body: {} })),
  )
  for (let count = 0; count <= positions.length; count++) await orders.get(1)
  const own = { headers: { 'Gatehook-Read-After': '0/1' } }
  await orders.get(1, own)
  const sent = requests.map(({ headers }) => headers['gatehook-read-after'])
  assert.deepEqual(sent, [undefined, '0/FF', '1/0', '1/0', '1/0', '1/A', '0/1'])
})

test('each request has another idempotency key, unless the caller passes one', async (t) => {
  const { orders, requests } = await scripted(t, [])
  await orders.create({})
  await orders.create({})
  await orders.update(1, {}, { idempotencyKey: 'mine' })
  const keys = requests.map(({ headers }) => headers['idempotency-key'])
  assert.equal(new Set(keys).size, 3)
  assert.equal(keys[2], 'mine')
})

test('the client waits for Retry-After, in seconds or as a date', async (t) => {
  const past = new Date(0).toUTCString()
  const { orders, delaysMs } = await scripted(t, [
    errorResponse(409, 'idempotency_in_progress', { 'retry-after': '2' }),
    errorResponse(503, 'shutting_down', { 'retry-after': past }),
  ])
  await orders.create({})
  assert.deepEqual(delaysMs, [2000, 0])
})

test('a Retry-After above the limit rejects at once', async (t) => {
  const answers = [errorResponse(429, 'rate_limited', { 'retry-after': '61' })]
  const { orders, delaysMs, requests } = await scripted(t, answers)
  await assert.rejects(orders.get(1), { code: 'rate_limited', retryAfter: 61 })
  assert.deepEqual([delaysMs, requests.length], [[], 1])
})

test('permanent failures are not retried', async (t) => {
  for (const [status, code] of [
    [400, 'invalid_parameter'],
    [401, 'unauthorized'],
    [404, 'not_found'],
    [409, 'conflict'],
    [410, 'api_version_brownout'],
    [422, 'validation_failed'],
    [500, 'internal_error'],
  ] as const) {
    const { orders, requests, delaysMs } = await scripted(t, [errorResponse(status, code)])
    await assert.rejects(orders.create({}), { status, code })
    assert.deepEqual([requests.length, delaysMs], [1, []])
  }
})

test('attempts are bounded, and the last failure rejects', async (t) => {
  const down = Array.from({ length: 9 }, () => ({ hangUp: true }))
  const { orders, requests } = await scripted(t, down, { retries: 2 })
  await assert.rejects(orders.get(1), { code: 'network_error', status: 0 })
  assert.equal(requests.length, 3)
  const none = await scripted(t, [{ hangUp: true }], { retries: 0 })
  await assert.rejects(none.orders.get(1), { code: 'network_error' })
  assert.equal(none.requests.length, 1)
})

test('an attempt without a response times out and is retried', async () => {
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

test('an error without a response names method, origin and path, and nothing else', async () => {
  const failing = async () => {
    throw new TypeError('fetch failed')
  }
  const never: typeof globalThis.fetch = (_, init) =>
    new Promise((_, reject) => {
      init!.signal!.addEventListener('abort', () => reject(init!.signal!.reason))
    })
  for (const [fetch, words] of [
    [failing, 'got no response'],
    [never, 'took too long'],
  ] as const) {
    const baseUrl = 'https://ada:secret@api.example.com/gateway'
    const client = createClient({ baseUrl, apiKey: 'k', fetch, retries: 0, timeoutMs: 1 })
    const request = client.request('GET', '/events', { query: { email: 'ada@example.com' } })
    const message = `GET https://api.example.com/gateway/events ${words}.`
    await assert.rejects(request, { message })
  }
})

const MISSING: readonly Record<string, unknown>[] = [
  { apiKey: undefined },
  { apiKey: '' },
  { apiKey: null },
  { apiKey: 7 },
  { token: undefined },
  { refreshToken: undefined },
  { refreshToken: '' },
  { token: undefined, refreshToken: undefined },
  { apiKey: undefined, token: undefined, refreshToken: undefined },
  { token: 'jwt', refreshToken: '' },
]

for (const credential of MISSING) {
  const words = Object.entries(credential).map(([name, value]) => `${name}: ${value}`)
  test(`a credential without a value is a TypeError: ${words.join(', ')}`, () => {
    const baseUrl = 'https://api.example.com'
    assert.throws(() => createClient({ baseUrl, ...credential } as never), TypeError)
  })
}

test('no credential, and one beside others without a value, are accepted', () => {
  const baseUrl = 'https://api.example.com'
  createClient({ baseUrl })
  createClient({ baseUrl, apiKey: undefined, token: 'jwt' })
  createClient({ baseUrl, token: undefined, refreshToken: 'rt' })
})

test('the caller’s signal aborts a request and a delay, with its own reason', async (t) => {
  const arrived = Promise.withResolvers<void>()
  const { baseUrl } = await serve(t, () => {
    arrived.resolve()
    return { silent: true }
  })
  const reason = new Error('aborted by the caller')
  const running = new AbortController()
  const call = createClient({ baseUrl }).collection('orders').get(1, { signal: running.signal })
  await arrived.promise
  running.abort(reason)
  await assert.rejects(call, reason)

  const pausing = new AbortController()
  const pause = Promise.withResolvers<void>()
  const random = () => {
    pause.resolve()
    return 0
  }
  const answers = [errorResponse(503, 'shutting_down', { 'retry-after': '60' })]
  const real = await scripted(t, answers, { sleep: undefined, random })
  const waiting = real.orders.get(1, { signal: pausing.signal })
  await pause.promise
  pausing.abort(reason)
  await assert.rejects(waiting, reason)
  assert.equal(real.requests.length, 1)
  await assert.rejects(real.orders.get(1, { signal: pausing.signal }), reason)
  assert.equal(real.requests.length, 1)
})

/** A service with access tokens `a<n>`, the newest valid, and refresh tokens of one use (§4.2). */
function tokenService(t: TestContext) {
  let generation = 0
  const refreshes: unknown[] = []
  const service = serve(t, async ({ url, headers, body }: ReceivedRequest) => {
    if (url.pathname === '/auth/refresh') {
      const { refresh_token } = body as { refresh_token: string }
      refreshes.push(refresh_token)
      await setImmediate()
      if (refresh_token !== `r${generation}`) return errorResponse(401, 'invalid_grant')
      generation++
      const tokens = {
        access_token: `a${generation}`,
        refresh_token: `r${generation}`,
        expires_in: 900,
      }
      return { body: { ...tokens, token_type: 'Bearer', scope: 'orders:read' } }
    }
    if (headers.authorization !== `Bearer a${generation}`)
      return errorResponse(401, 'invalid_token')
    return { body: { token: headers.authorization } }
  })
  const expire = () => generation++
  return { service, refreshes, expire }
}

test('an expired token is refreshed once for all waiting requests', async (t) => {
  const { service, refreshes } = tokenService(t)
  const { baseUrl, requests } = await service
  const reported: Tokens[] = []
  const onTokens = (tokens: Tokens) => void reported.push(tokens)
  const client = createClient({ baseUrl, token: 'expired', refreshToken: 'r0', onTokens })
  const orders = client.collection<{ token: string }>('orders')
  const answers = await Promise.all([1, 2, 3, 4, 5].map((id) => orders.get(id)))
  assert.ok(answers.every(({ token }) => token === 'Bearer a1'))
  assert.deepEqual(refreshes, ['r0'])
  assert.deepEqual(reported, [{ accessToken: 'a1', refreshToken: 'r1', expiresIn: 900 }])
  const refresh = requests.find(({ url }) => url.pathname === '/auth/refresh')!
  assert.equal(refresh.headers.authorization, undefined)
})

test('a request rejected after a refresh uses the new token', async (t) => {
  const renewed = Promise.withResolvers<void>()
  const refreshes: unknown[] = []
  const { baseUrl } = await serve(t, async ({ url, headers, body }) => {
    if (url.pathname === '/auth/refresh') {
      refreshes.push(body)
      return { body: { access_token: 'a1', refresh_token: 'r1' } }
    }
    if (headers.authorization === 'Bearer a1') return { body: { id: 1 } }
    if (url.pathname.endsWith('/2')) await renewed.promise
    return errorResponse(401, 'invalid_token')
  })
  const orders = createClient({ baseUrl, token: 'a0', refreshToken: 'r0' }).collection('orders')
  const late = orders.get(2)
  await orders.get(1)
  renewed.resolve()
  assert.deepEqual(await late, { id: 1 })
  assert.deepEqual(refreshes, [{ refresh_token: 'r0' }])
})

test('a refresh token alone is enough, and is sent once', async (t) => {
  const { service, refreshes } = tokenService(t)
  const { baseUrl } = await service
  const orders = createClient({ baseUrl, refreshToken: 'r0' }).collection<unknown>('orders')
  assert.deepEqual(await orders.get(1), { token: 'Bearer a1' })
  assert.deepEqual(await orders.get(1), { token: 'Bearer a1' })
  assert.deepEqual(refreshes, ['r0'])
})

test('a revoked refresh token is the caller’s error, and is not sent twice', async (t) => {
  const { service, refreshes, expire } = tokenService(t)
  const { baseUrl } = await service
  const orders = createClient({ baseUrl, refreshToken: 'r0' }).collection('orders')
  await orders.get(1)
  expire()
  await assert.rejects(orders.get(1), { code: 'invalid_grant', status: 401 })
  await assert.rejects(orders.get(1), { code: 'invalid_token', status: 401 })
  assert.deepEqual(refreshes, ['r0', 'r1'])
})

test('a token without a refresh token is an error at once', async (t) => {
  const { orders, requests } = await scripted(t, [errorResponse(401, 'invalid_token')], {
    token: 'expired',
  })
  await assert.rejects(orders.get(1), { code: 'invalid_token' })
  assert.equal(requests.length, 1)
})

test('a refresh that fails in the network is retried with the request', async (t) => {
  const tokens = { access_token: 'a1', refresh_token: 'r1', expires_in: 900 }
  const answers = [errorResponse(401, 'invalid_token'), { hangUp: true }]
  const retries = [errorResponse(401, 'invalid_token'), { body: tokens }]
  const { orders, requests, delaysMs } = await scripted(t, [...answers, ...retries], {
    token: 'expired',
    refreshToken: 'r0',
  })
  assert.deepEqual(await orders.create({ amount: 1 }), { id: 1 })
  assert.deepEqual(delaysMs, [125])
  const creates = requests.filter(({ url }) => url.pathname === '/api/orders')
  assert.equal(creates.at(-1)?.headers.authorization, 'Bearer a1')
  assert.equal(new Set(creates.map(({ headers }) => headers['idempotency-key'])).size, 1)
})

test('deprecation is reported once per version, from headers and warnings', async (t) => {
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

test('errors of a deprecated version report it too', async (t) => {
  const notices: string[] = []
  const { orders } = await scripted(t, [errorResponse(404, 'not_found', { deprecation: '@0' })], {
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
