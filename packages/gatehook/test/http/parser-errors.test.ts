import assert from 'node:assert/strict'
import net from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { answersIn, type RawAnswer, request, start, talk, withSlow } from './rig.ts'

const short = { headersTimeoutMs: 200, requestTimeoutMs: 400 }

/** Asserts the error envelope and `Connection: close`; returns status and code. */
function assertEnvelope(answer: RawAnswer | undefined): [number, string] {
  assert(answer)
  assert.equal(answer.headers['content-type'], 'application/json')
  assert.equal(answer.headers.connection, 'close')
  const body = JSON.parse(answer.body)
  assert.equal(body.status, answer.status)
  assert.equal(body.request_id, answer.headers['x-request-id'])
  return [answer.status, body.error]
}

test('requests that the parser rejects get the error envelope', async (t) => {
  const { port } = await start(t)
  const big = 'x'.repeat(20_000)
  const cases: [string, number, string][] = [
    ['nonsense\r\n\r\n', 400, 'invalid_request'],
    ['\x16\x03\x01\x02\x00\x01\x00', 400, 'invalid_request'],
    ['GET / HTTP/9.9\r\nHost: localhost\r\n\r\n', 400, 'invalid_request'],
    ['GET / HTTP/1.1\r\nHost: localhost\r\nbad header: x\r\n\r\n', 400, 'invalid_request'],
    ['GET /\0 HTTP/1.1\r\nHost: localhost\r\n\r\n', 400, 'invalid_request'],
    [request('GET /', 'Content-Length: 1', 'Content-Length: 2'), 400, 'invalid_request'],
    [request('POST /', 'Content-Length: 1', 'Transfer-Encoding: chunked'), 400, 'invalid_request'],
    [request('POST /', 'Content-Length: -1'), 400, 'invalid_request'],
    [request('GET /', `X-Big: ${big}`), 431, 'headers_too_large'],
    [`GET /${big} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 414, 'uri_too_long'],
  ]
  for (const [bytes, status, code] of cases) {
    const answers = await talk(port, bytes)
    assert.equal(answers.length, 1)
    assert.deepEqual(assertEnvelope(answers[0]), [status, code], bytes.slice(0, 60))
  }
})

test('a URL with raw bytes is 400, and the message names the fault', async (t) => {
  const { port } = await start(t)
  for (const path of ['/caf\u00e9', '/api/orders?x=\u00e9', '/\0']) {
    const [answer] = await talk(port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    assert.deepEqual(assertEnvelope(answer), [400, 'invalid_request'])
    assert.match(JSON.parse(answer!.body).message, /The URL contains .* not ASCII/)
  }
})

test('a URL of more than 8 KiB is 414', async (t) => {
  const { port } = await start(t)
  const of = (bytes: number) => `/api/orders?x=${'y'.repeat(bytes - 14)}`
  assert.equal((await talk(port, request(`GET ${of(8192)}`)))[0]?.status, 200)
  assert.deepEqual(assertEnvelope((await talk(port, request(`GET ${of(8193)}`)))[0]), [
    414,
    'uri_too_long',
  ])
})

test('a missing or repeated Host header is 400', async (t) => {
  const { port } = await start(t)
  const none = 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n'
  assert.deepEqual(assertEnvelope((await talk(port, none))[0]), [400, 'invalid_request'])
  const twice = request('GET /healthz', 'hOST: localhost')
  assert.deepEqual(assertEnvelope((await talk(port, twice))[0]), [400, 'invalid_request'])
  const old = 'GET /healthz HTTP/1.0\r\n\r\n'
  assert.equal((await talk(port, old))[0]?.status, 200)
  const [foreign] = await talk(port, 'GET /api/orders HTTP/1.0\r\nHost: evil.example\r\n\r\n')
  assert.deepEqual(
    [foreign?.status, JSON.parse(foreign?.body ?? '').error],
    [421, 'misdirected_request'],
  )
})

test('a head or a body that arrives too slowly is 408', async (t) => {
  const { port } = await start(t, { limits: short })
  const head = talk(port, 'GET /healthz HTTP/1.1\r\nHost: local')
  const body = talk(
    port,
    request('POST /api/orders', 'Content-Type: application/json', 'Content-Length: 9'),
    '{"a"',
  )
  for (const answers of [await head, await body]) {
    assert.deepEqual(assertEnvelope(answers[0]), [408, 'request_timeout'])
    assert.equal(answers.length, 1)
  }
})

test('a body with malformed framing is a single 400', async (t) => {
  const { port } = await start(t)
  const head = request(
    'POST /api/orders',
    'Content-Type: application/json',
    'Transfer-Encoding: chunked',
  )
  const answers = await talk(port, head, '2\r\n{}\r\nZZ\r\n')
  assert.equal(answers.length, 1)
  assert.deepEqual(assertEnvelope(answers[0]), [400, 'invalid_request'])
})

test('a request answered before its body gets a single response', async (t) => {
  const { port } = await start(t, { limits: short })
  const head = 'POST /nowhere HTTP/1.1\r\nHost: localhost\r\n'
  const answers = await talk(port, `${head}Content-Length: 9\r\n\r\n{"a"`)
  assert.deepEqual(
    answers.map(({ status }) => status),
    [404],
  )
})

test('malformed bytes after a request do not replace its response', async (t) => {
  const { port, gate, entered } = await withSlow(t)
  const socket = net.connect(port, '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  const closed = new Promise((resolve) => socket.on('close', resolve))
  socket.write('GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\nGARBAGE\r\n\r\n')
  await entered.promise
  gate.resolve()
  await closed
  const answers = answersIn(Buffer.concat(chunks))
  assert.deepEqual([answers[0]?.status, answers[0]?.body], [200, '"done"'])
  assert.deepEqual(assertEnvelope(answers[1]), [400, 'invalid_request'])
})

test('Upgrade is ignored', async (t) => {
  const { port } = await start(t)
  for (const to of ['websocket', 'h2c']) {
    const upgrade =
      'GET /healthz HTTP/1.1\r\nHost: localhost\r\n' +
      `Connection: upgrade, close\r\nUpgrade: ${to}\r\n\r\n`
    assert.equal((await talk(port, upgrade))[0]?.status, 200, to)
  }
})

test('any bytes result in a status below 500 or a closed connection', async (t) => {
  const rig = await start(t, { limits: short })
  const text = fc.string({ unit: 'binary', maxLength: 40 }).map((s) => s.replace(/[\r\n]/g, ''))
  const hostile = fc
    .record({
      method: fc.constantFrom('GET', 'POST', 'PATCH', 'OPTIONS', 'HEAD'),
      path: fc.oneof(
        text,
        text.map((s) => `/api/${s}`),
        text.map((s) => `/api/orders/${s}`),
      ),
      name: fc.constantFrom('Accept', 'Content-Type', 'Expect', 'X-Request-Id', 'Host', 'Range'),
      value: text,
      body: text,
    })
    .map(({ method, path, name, value, body }) => {
      const length = `Content-Length: ${Buffer.byteLength(body)}`
      return request(`${method} ${path}`, length, `${name}: ${value}`) + body
    })
  await fc.assert(
    fc.asyncProperty(hostile, async (bytes) => {
      for (const answer of await talk(rig.port, bytes)) assert(answer.status < 500, bytes)
    }),
    { numRuns: 150 },
  )
  assert.equal(
    rig.lines.some((line) => line.msg === 'bug'),
    false,
  )
})

test('a header with a line break or a control character is named', async (t) => {
  const { port } = await start(t)
  for (const value of ['one\ntwo', 'one\r\ntwo', 'one\rtwo', 'a\0b', 'a\x01b']) {
    for (const before of [[], ['X-Other: 1']]) {
      const bytes = request('GET /api/orders', ...before, `X-Request-Note: ${value}`)
      const [answer] = await talk(port, bytes)
      assert.equal(answer?.status, 400)
      assert.match(JSON.parse(answer!.body).message, /header X-Request-Note contains/, value)
    }
  }
})
