import assert from 'node:assert/strict'
import net from 'node:net'
import { test } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import type { Step } from '../../src/protocol/http/call.ts'
import { answersIn, request, start, talk } from './rig.ts'

const post = (path: string, body: string, ...headers: string[]) =>
  request(`POST ${path}`, `Content-Length: ${Buffer.byteLength(body)}`, ...headers) + body

const JSON_TYPE = 'Content-Type: application/json'

const codeOf = (answer: { body: string } | undefined) => JSON.parse(answer?.body ?? '').error

test('a body is received whole, chunked or not, in any parts', async (t) => {
  const { port } = await start(t)
  const [whole] = await talk(port, post('/api/orders', '{"a":"ä"}', JSON_TYPE))
  assert.deepEqual(JSON.parse(whole?.body ?? '').body, { a: 'ä' })
  const head = request('POST /api/orders', JSON_TYPE, 'Transfer-Encoding: chunked')
  const [chunked] = await talk(port, head, '4\r\n{"a"\r\n', '3\r\n:1}\r\n', '0\r\n\r\n')
  assert.deepEqual(JSON.parse(chunked?.body ?? '').body, { a: 1 })
})

test('media types are checked before the body; a 415 lists the supported types', async (t) => {
  const { port } = await start(t)
  const cases: string[][] = [
    ['Content-Type: text/plain'],
    ['Content-Type: application/x-www-form-urlencoded'],
    ['Content-Type: application/json; charset=latin1'],
    ['Content-Type: application/merge-patch+json'],
    [JSON_TYPE, 'Content-Encoding: gzip'],
    [],
  ]
  for (const headers of cases) {
    const [answer] = await talk(port, post('/api/orders', '{"a":1}', ...headers))
    assert.equal(answer?.status, 415, headers.join())
    assert.equal(answer?.headers.accept, 'application/json')
  }
  const untyped = request('POST /api/orders', 'Transfer-Encoding: chunked')
  assert.equal((await talk(port, untyped, '2\r\n{}\r\n0\r\n\r\n'))[0]?.status, 415)
  const vendor = 'Content-Type: application/vnd.gatehook.api.v2+json'
  assert.equal((await talk(port, post('/api/orders', '{}', vendor)))[0]?.status, 200)
  const patch = 'Content-Length: 2\r\nContent-Type: application/merge-patch+json'
  assert.equal((await talk(port, request('PATCH /api/orders/5', patch), '{}'))[0]?.status, 200)
})

test('an empty body is an error only if a body is required', async (t) => {
  const { port } = await start(t)
  const [required] = await talk(port, post('/api/orders', ''))
  assert.deepEqual([required?.status, codeOf(required)], [400, 'invalid_json'])
  for (const headers of [[], [JSON_TYPE], ['Content-Type: text/plain']]) {
    const [optional] = await talk(port, post('/api/orders/5/pay', '', ...headers))
    assert.equal(JSON.parse(optional?.body ?? '').body, null)
  }
  const empty = request('POST /api/orders/5/pay', 'Transfer-Encoding: chunked')
  assert.equal((await talk(port, empty, '0\r\n\r\n'))[0]?.status, 200)
})

test('a body that no operation reads is ignored, and the connection stays open', async (t) => {
  const { port } = await start(t)
  const head = (line: string, ...more: string[]) =>
    `${[`${line} HTTP/1.1`, 'Host: localhost', ...more].join('\r\n')}\r\n\r\n`
  const answers = await talk(
    port,
    `${head('DELETE /api/orders/5', 'Content-Length: 4')}junk`,
    `${head('GET /api/orders', 'Content-Length: 4')}junk`,
    request('GET /healthz'),
  )
  assert.deepEqual(
    answers.map((answer) => answer.status),
    [204, 200, 200],
  )
})

test('a body of 1 MiB is read, one byte more is 413', async (t) => {
  const { port } = await start(t)
  const of = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`
  const [most] = await talk(port, post('/api/orders', of(1_048_576), JSON_TYPE))
  assert.equal(most?.status, 200)
  const [more] = await talk(port, post('/api/orders', of(1_048_577), JSON_TYPE))
  assert.deepEqual([more?.status, codeOf(more)], [413, 'payload_too_large'])
  const head = request('POST /api/orders', JSON_TYPE, 'Transfer-Encoding: chunked')
  const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`
  const [chunked] = await talk(port, head, chunk, chunk, '0\r\n\r\n')
  assert.equal(chunked?.status, 413)
})

test('a body beyond the discard bound is not read', async (t) => {
  const { port } = await start(t)
  const head = request('POST /api/orders', JSON_TYPE, 'Content-Length: 99999999999')
  const [declared] = await talk(port, head)
  assert.equal(declared?.status, 413)
  assert.equal(declared?.headers.connection, 'close')
})

test('a 401 does not wait for the body', async (t) => {
  const { port } = await start(t)
  const head = request('POST /api/users', JSON_TYPE, 'Content-Length: 1000000')
  const [answer] = await talk(port, head)
  assert.equal(answer?.status, 401)
})

/** Sends a head with `Expect`, and the body after 100 Continue. Returns all received text. */
function expecting(port: number, head: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1')
    let text = ''
    socket.on('connect', () => socket.write(head))
    socket.on('data', (chunk) => {
      const before = text
      text += chunk
      if (!before && text.startsWith('HTTP/1.1 100 Continue\r\n\r\n')) socket.write(body)
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(text))
  })
}

test('100-continue is said when the body is continued, not to those who are refused', async (t) => {
  const { port } = await start(t)
  const headers = [JSON_TYPE, 'Content-Length: 7', 'Expect: 100-continue']
  const continued = await expecting(port, request('POST /api/orders', ...headers), '{"a":1}')
  const [, rest = ''] = continued.split('HTTP/1.1 100 Continue\r\n\r\n')
  assert.deepEqual(JSON.parse(answersIn(Buffer.from(rest))[0]?.body ?? '').body, { a: 1 })
  const keepOpen = request('POST /api/users', ...headers).replace('Connection: close\r\n', '')
  const refused = await expecting(port, keepOpen, '{"a":1}')
  assert.match(refused, /^HTTP\/1.1 401 /)
  const large = request('POST /api/orders', JSON_TYPE, 'Content-Length: 2000000', headers[2]!)
  assert.match(await expecting(port, large, ''), /^HTTP\/1.1 413 /)
  const odd = await talk(port, post('/api/orders', '{}', JSON_TYPE, 'Expect: miracles'))
  assert.deepEqual([odd[0]?.status, codeOf(odd[0])], [400, 'invalid_request'])
})

test('a connection that ends before the body is read is logged without a response', async (t) => {
  const left = Promise.withResolvers<void>()
  const entered = Promise.withResolvers<void>()
  const wait = async (call: Parameters<Step>[0]) => {
    call.signal.addEventListener('abort', () => left.resolve(), { once: true })
    entered.resolve()
    await left.promise
  }
  const rig = await start(t, { head: [wait] })
  const socket = net.connect(rig.port, '127.0.0.1')
  socket.write(request('POST /api/orders', JSON_TYPE, 'Content-Length: 50'))
  await entered.promise
  socket.destroy()
  const aborted = async () => rig.lines.some(({ msg }) => msg === 'request aborted')
  assert.ok(await eventually(aborted, Boolean))
})

test('a connection that ends in the body is logged without a response', async (t) => {
  const rig = await start(t)
  await new Promise<void>((resolve) => {
    const socket = net.connect(rig.port, '127.0.0.1')
    const headers = [JSON_TYPE, 'Content-Length: 50', 'Expect: 100-continue']
    socket.on('connect', () => socket.write(request('POST /api/orders', ...headers)))
    socket.on('data', () => socket.destroy())
    socket.on('close', () => resolve())
  })
  await rig.server.drain(5000)
  const aborted = async () => rig.lines.find((entry) => entry.msg === 'request aborted')
  const line = await eventually(aborted, (logged) => logged !== undefined)
  assert.equal(line?.route, '/api/orders')
  assert.equal(
    rig.lines.some((entry) => entry.msg === 'bug'),
    false,
  )
})
