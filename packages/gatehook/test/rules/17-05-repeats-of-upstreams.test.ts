/** §17.5: an `Idempotency-Key` of a forwarded request, and outcomes that are unknown. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService } from '../../../../test/rig/service.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { eachForward, inFrontOf, openUpstream, replyJson } from '../forwards/upstream-rig.ts'
import { readRequestRecords } from '../storage/request-records.ts'

const KEY = { 'idempotency-key': 'k1' }
const created = { id: 7, total_cents: 1, note: null, paid_at: null }
const body = { total_cents: 1 }

eachForward(
  'a repeat gets the stored answer, and the upstream one request with a key',
  async (api, upstream) => {
    upstream.respond = replyJson(201, created)
    const first = await api.post('/api/v2/invoices', body, KEY)
    const repeat = await api.post('/api/v2/invoices', body, KEY)
    assert.deepEqual([first.status, first.body], [201, created])
    assert.deepEqual([repeat.status, repeat.body], [201, created])
    assert.equal(repeat.headers['idempotent-replayed'], 'true')
    assert.equal(upstream.received.length, 1)
    const sent = upstream.received[0]!.headers['idempotency-key']
    assert.match(String(sent), /^[\w-]{43}$/)
    assert.equal(
      (await api.post('/api/v2/invoices', { total_cents: 2 }, KEY)).body.error,
      'idempotency_key_reused',
    )
    // Another caller with the same key has another one.
    const other = api.as(await api.key({ scopes: ['invoices:write'] }))
    await other.post('/api/v2/invoices', body, KEY)
    assert.notEqual(upstream.received[1]!.headers['idempotency-key'], sent)
  },
)

eachForward('answers of any media type are stored; refusals are, too', async (api, upstream) => {
  const bytes = Buffer.from([0, 255, 1])
  upstream.respond = (_, response) =>
    void response.writeHead(200, { 'content-type': 'image/png' }).end(bytes)
  for (let i = 0; i < 2; i++) {
    const { headers, text } = await api.post('/api/v2/payments', {}, KEY)
    assert.deepEqual([headers['content-type'], text.length], ['image/png', 3])
  }
  assert.equal(upstream.received.length, 1)
  upstream.respond = replyJson(422, { why: 1 })
  const wrapped = { 'idempotency-key': 'k2' }
  for (let i = 0; i < 2; i++) {
    const { status, body: refusal } = await api.post('/api/v2/invoices', body, wrapped)
    assert.deepEqual([status, refusal.error], [422, 'upstream_refused'])
  }
  assert.equal(upstream.received.length, 2)
})

eachForward(
  'after an unknown outcome only a repeatable route sends again',
  async (api, upstream) => {
    upstream.respond = replyJson(503, {})
    const failed = await api.post('/api/v2/invoices', body, KEY)
    assert.deepEqual([failed.status, failed.body.error], [502, 'upstream_failed'])
    upstream.respond = replyJson(201, created)
    for (let i = 0; i < 2; i++) {
      const repeat = await api.post('/api/v2/invoices', body, KEY)
      assert.deepEqual([repeat.status, repeat.body.error], [409, 'outcome_unknown'])
    }
    assert.equal(upstream.received.length, 1)
    upstream.respond = (_, response) => void response.destroy()
    const broken = (await api.post('/api/v2/payments', {}, KEY)).body
    assert.equal(broken.error, 'upstream_unreachable')
    assert.match(broken.message, /The request was sent/)
    upstream.respond = replyJson(200, { paid: true })
    for (let i = 0; i < 2; i++)
      assert.deepEqual((await api.post('/api/v2/payments', {}, KEY)).body, { paid: true })
    const keys = upstream.received.slice(1).map(({ headers }) => headers['idempotency-key'])
    assert.equal(keys.length, 2)
    assert.equal(new Set(keys).size, 1)
  },
)

/** Each way in which a change that was sent can fail. */
const failures: Readonly<Record<string, Parameters<typeof openUpstream>[1]>> = {
  'a broken connection': (_, response) => void response.destroy(),
  'a 5xx': replyJson(503, {}),
  'a redirect after an effect': replyJson(303, {}, { location: '/base/elsewhere' }),
  'half an answer': (_, response) =>
    void response.writeHead(200, { 'content-length': 9 }).write('h', () => response.destroy()),
}

for (const [failure, respond] of Object.entries(failures)) {
  test(`after ${failure} a change says what its caller can do, and that works`, async (t) => {
    const upstream = await openUpstream(t, respond)
    const api = await openService(t, 'sqlite', { service: inFrontOf(upstream.url) })
    for (const path of ['/api/v2/invoices', '/api/v2/payments']) {
      for (const headers of [KEY, {} as Record<string, string>]) {
        upstream.respond = respond!
        const { status, body: failed } = await api.post(path, body, headers)
        assert.equal(status, 502, failed.message)
        const advisesRepeat = /Repeat it with the same `Idempotency-Key`/.test(failed.message)
        assert.equal(/Read what it would have changed/.test(failed.message), !advisesRepeat)
        assert.equal(failed.message.includes('may have been executed'), true)
        upstream.respond = replyJson(201, created)
        const sent = upstream.received.length
        const repeat = headers === KEY && (await api.post(path, body, headers))
        assert.equal(upstream.received.length > sent, advisesRepeat, failed.message)
        if (repeat) assert.equal(repeat.body.error === 'outcome_unknown', !advisesRepeat)
      }
    }
  })
}

eachForward(
  'an effect whose answer violates the output, or is too large to store, is not repeated',
  async (api, upstream) => {
    upstream.respond = replyJson(201, { id: 'x' })
    assert.equal((await api.post('/api/v2/invoices', body, KEY)).body.error, 'upstream_invalid')
    assert.equal((await api.post('/api/v2/invoices', body, KEY)).body.error, 'outcome_unknown')
    const large = { 'idempotency-key': 'large' }
    upstream.respond = replyJson(201, { ...created, further: 'x'.repeat(1_100_000) })
    assert.equal((await api.post('/api/v2/invoices', body, large)).status, 201)
    assert.equal((await api.post('/api/v2/invoices', body, large)).body.error, 'outcome_unknown')
    assert.equal(upstream.received.length, 2)
  },
)

eachForward(
  'a refusal of a second attempt leaves the outcome of the first one unknown',
  async (api, upstream) => {
    upstream.respond = replyJson(503, {})
    assert.equal((await api.post('/api/v2/payments', {}, KEY)).status, 502)
    for (const status of [409, 429, 401, 409]) {
      upstream.respond = replyJson(status, {})
      const refused = await api.post('/api/v2/payments', {}, KEY)
      assert.equal(refused.status, status === 401 ? 502 : status)
      const other = await api.post('/api/v2/payments', { cents: 2 }, KEY)
      assert.equal(other.body.error, 'idempotency_key_reused')
    }
    upstream.respond = replyJson(200, { paid: true })
    for (let i = 0; i < 2; i++)
      assert.deepEqual((await api.post('/api/v2/payments', {}, KEY)).body, { paid: true })
    const keys = upstream.received.map(({ headers }) => headers['idempotency-key'])
    assert.deepEqual([keys.length, new Set(keys).size], [6, 1])
    // A 409 of the first attempt is an answer like others, unless it says when to repeat.
    const statusOf = async (key: string) =>
      (await api.post('/api/v2/payments', {}, { 'idempotency-key': key })).status
    upstream.respond = replyJson(409, {}, { 'retry-after': '1' })
    assert.equal(await statusOf('a'), 409)
    upstream.respond = replyJson(409, {})
    assert.deepEqual([await statusOf('b'), await statusOf('b')], [409, 409])
    upstream.respond = replyJson(200, { paid: true })
    assert.deepEqual([await statusOf('a'), await statusOf('b')], [200, 409])
    assert.equal(upstream.received.length, 9)
  },
)

eachForward('a request that had no effect is sent again', async (api, upstream) => {
  upstream.respond = replyJson(401, {})
  assert.equal((await api.post('/api/v2/invoices', body, KEY)).body.error, 'upstream_failed')
  upstream.respond = replyJson(429, {}, { 'retry-after': '1' })
  for (const path of ['/api/v2/invoices', '/api/v2/payments']) {
    const limited = await api.post(path, body, KEY)
    assert.deepEqual([limited.status, limited.headers['retry-after']], [429, '1'])
  }
  upstream.respond = replyJson(201, created)
  for (const path of ['/api/v2/invoices', '/api/v2/payments'])
    assert.equal((await api.post(path, body, KEY)).status, 201)
  // Without a key a call is sent once, whatever follows.
  upstream.respond = replyJson(500, {})
  await api.post('/api/v2/invoices', body)
  assert.equal(upstream.received.length, 6)
  assert.equal(upstream.received[5]!.headers['idempotency-key'], undefined)
})

eachForward('a running request is 409 for a repeat; a dry run is 400', async (api, upstream) => {
  let finish = () => {}
  upstream.respond = (received, response) => {
    finish = () => replyJson(201, created)(received, response)
  }
  const first = api.post('/api/v2/invoices', body, KEY)
  await eventually(
    async () => upstream.received.length,
    (count) => count === 1,
  )
  const repeat = await api.post('/api/v2/invoices', body, KEY)
  assert.deepEqual([repeat.status, repeat.body.error], [409, 'idempotency_in_progress'])
  assert.ok(repeat.headers['retry-after'])
  finish()
  assert.equal((await first).status, 201)
  const dry = await api.post('/api/v2/invoices', body, { prefer: 'dry-run' })
  assert.deepEqual([dry.status, dry.body.error], [400, 'invalid_request'])
  assert.equal(upstream.received.length, 1)
})

test('a repeat with another query is another request', async (t) => {
  const upstream = await openUpstream(t)
  const api = await openService(t, 'sqlite', { service: inFrontOf(upstream.url) })
  for (const [to, status] of [
    ['ann', 200],
    ['bob', 422],
    ['ann', 200],
  ] as const) {
    const reply = await api.post(`/api/v2/payments?to=${to}`, body, KEY)
    assert.equal(reply.status, status, reply.text)
  }
  assert.deepEqual(
    upstream.received.map(({ path }) => path),
    ['/payments?to=ann'],
  )
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`after an unknown outcome a repeat has its key on the next day [${kind}]`, async (t) => {
    const upstream = await openUpstream(t, replyJson(503, {}))
    const api = await openService(t, kind, {
      service: inFrontOf(upstream.url),
      env: { GATEHOOK_TEST_CLOCK: '1' },
    })
    const setClock = (now: number) =>
      api.app.clock!.set({ now, freeze: true }, { kind: 'cli', id: 'test' })
    const midnight = Math.ceil(Date.now() / 86_400_000 + 1) * 86_400_000
    await setClock(midnight - 1000)
    await api.post('/api/v2/payments', { cents: 1 }, KEY)
    await setClock(midnight + 1000)
    const other = await api.post('/api/v2/payments', { cents: 2 }, KEY)
    assert.equal(other.body.error, 'idempotency_key_reused')
    upstream.respond = replyJson(200, { paid: true })
    for (let i = 0; i < 2; i++) {
      const { body } = await api.post('/api/v2/payments', { cents: 1 }, KEY)
      assert.deepEqual(body, { paid: true })
    }
    const keys = upstream.received.map(({ headers }) => headers['idempotency-key'])
    assert.equal(keys.length, 2)
    assert.equal(new Set(keys).size, 1)
  })
}

test('the answer for a caller that has left is stored', async (t) => {
  const upstream = await openUpstream(t, () => undefined)
  const api = await openService(t, 'sqlite', { service: inFrontOf(upstream.url) })
  const { url } = await api.app.listen()
  const key = await api.key({ scopes: ['invoices:write'] })
  const leaving = new AbortController()
  let finish = () => {}
  upstream.respond = (received, response) => {
    finish = () => replyJson(200, { paid: true })(received, response)
  }
  const headers = { 'x-api-key': key, 'content-type': 'application/json', ...KEY }
  const request = { method: 'POST', headers, body: '{}' }
  const left = fetch(`${url}/api/v2/payments`, { ...request, signal: leaving.signal }).catch(
    () => 'left',
  )
  await eventually(
    async () => upstream.received.length,
    (count) => count === 1,
  )
  leaving.abort()
  assert.equal(await left, 'left')
  finish()
  const repeat = async () => (await fetch(`${url}/api/v2/payments`, request)).status
  await eventually(repeat, (status) => status === 200)
  assert.equal(upstream.received.length, 1)
})

test('a record that a killed node has left is unknown once its time has passed', async (t) => {
  const upstream = await openUpstream(t, () => undefined)
  const api = await openService(t, 'sqlite', {
    service: inFrontOf(upstream.url, 30_000),
    env: { GATEHOOK_TEST_CLOCK: '1' },
  })
  const pending = ['/api/v2/invoices', '/api/v2/payments'].map((path) => api.post(path, body, KEY))
  await eventually(
    async () => upstream.received.length,
    (count) => count === 2,
  )
  const records = await readRequestRecords(api.app.db)
  assert.deepEqual(
    records.map(({ answer }) => answer),
    [null, null],
  )
  upstream.respond = replyJson(201, created)
  upstream.server.closeAllConnections()
  await Promise.all(pending)
  // As the node left them.
  await api.app.db.write(async (tx) => {
    await tx.run(sql`DELETE FROM gh_idempotency`)
    for (const { scope, id, fingerprint, expires_at } of records) {
      await tx.run(sql`INSERT INTO gh_idempotency (scope, id, fingerprint, expires_at)
        VALUES (${scope}, ${id}, ${fingerprint}, ${expires_at})`)
    }
  })
  const repeats = () =>
    Promise.all(['/api/v2/invoices', '/api/v2/payments'].map((path) => api.post(path, body, KEY)))
  for (const { body: failure } of await repeats())
    assert.equal(failure.error, 'idempotency_in_progress')
  await api.app.clock!.set({ advance_s: 36 }, { kind: 'cli', id: 'test' })
  const [unknown, again] = await repeats()
  assert.deepEqual([unknown!.status, unknown!.body.error], [409, 'outcome_unknown'])
  assert.equal(again!.status, 201)
})
