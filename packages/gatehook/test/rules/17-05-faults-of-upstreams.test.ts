/** §17.5: upstreams that are away, slow, endless or broken, and clients that leave. */
import assert from 'node:assert/strict'
import { get } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService } from '../../../../test/rig/service.ts'
import { UPSTREAM_LIMITS } from '../../src/outbound/transport/upstreams.ts'
import { inFrontOf, openBytes, openUpstream } from '../forwards/upstream-rig.ts'

const openFront = (t: TestContext, url: string, timeoutMs?: number) =>
  openService(t, 'sqlite', { service: inFrontOf(url, timeoutMs) })

const until = (condition: () => boolean) => eventually(async () => condition(), Boolean)

const reply = (socket: Socket, text: string) => void socket.write(text)
const end = (socket: Socket, text: string) => void socket.end(text, 'latin1')
const OK = 'HTTP/1.1 200 OK\r\n'

test('an upstream that is away is 502 upstream_unreachable', async (t) => {
  const closed = await openBytes(t, () => undefined)
  const api = await openFront(t, 'http://127.0.0.1:1')
  const nameless = await openFront(t, 'http://name.invalid')
  for (const each of [api, nameless]) {
    for (const { status, body } of [
      await each.get('/api/v2/invoices'),
      await each.post('/api/v2/payments', {}),
    ]) {
      assert.deepEqual([status, body.error], [502, 'upstream_unreachable'])
    }
  }
  assert.equal(closed.count(), 0)
})

test('a GET is repeated once when no byte has arrived, with its own assertion', async (t) => {
  const upstream = await openBytes(t, (socket, count) => {
    if (count === 1) socket.destroy()
    else end(socket, `${OK}Content-Length: 2\r\n\r\nok`)
  })
  const { url } = upstream
  const api = await openFront(t, url)
  assert.equal((await api.get('/api/v2/invoices')).text, 'ok')
  assert.equal(upstream.count(), 2)
  const assertions = upstream.heads.map((head) => /gatehook-assertion: (\S+)/i.exec(head)?.[1])
  assert.equal(new Set(assertions).size, 2)
  const begun = await openBytes(t, (socket) => end(socket, 'HTTP/1.1 2'))
  const other = await openFront(t, begun.url)
  assert.equal((await other.get('/api/v2/invoices')).status, 502)
  assert.equal(begun.count(), 1)
  const silent = await openBytes(t, (socket) => socket.destroy())
  const third = await openFront(t, silent.url)
  assert.equal((await third.get('/api/v2/invoices')).body.error, 'upstream_unreachable')
  assert.equal(silent.count(), 2)
  // A change is sent once.
  assert.equal((await third.post('/api/v2/payments', {})).body.error, 'upstream_unreachable')
  assert.equal(silent.count(), 3)
})

test('a status that HTTP does not have is 502', async (t) => {
  const { url } = await openBytes(t, (socket) =>
    end(socket, 'HTTP/1.1 600 Odd\r\nContent-Length: 0\r\n\r\n'),
  )
  assert.equal((await (await openFront(t, url)).get('/api/v2/invoices')).status, 502)
})

test('an upstream that dies in the middle of its answer is 502', async (t) => {
  const upstream = await openBytes(t, (socket) => end(socket, `${OK}Content-Length: 9\r\n\r\nhalf`))
  const api = await openFront(t, upstream.url)
  for (const path of ['/invoices', '/invoices/7']) {
    const { status, body } = await api.get(`/api/v2${path}`)
    assert.deepEqual([status, body.error], [502, 'upstream_unreachable'])
    assert.doesNotMatch(body.message, /executed/, 'a read has no effect')
  }
  // A stream has begun: the client sees that it is cut.
  const { url } = await api.app.listen()
  const key = await api.key({ scopes: ['invoices:read'] })
  const response = await fetch(`${url}/api/v2/export`, { headers: { 'x-api-key': key } })
  assert.equal(response.status, 200)
  await assert.rejects(response.text())
})

test('an answer that is no HTTP, or that smuggles another, is 502', async (t) => {
  const answers = [
    'no http at all\r\n\r\n',
    `${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\nok!`,
    `${OK}Content-Length: abc\r\n\r\nok`,
    `${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n`,
    `${OK}X-Long: ${'x'.repeat(17_000)}\r\n\r\n`,
    `${OK}${'X-Many: 1\r\n'.repeat(120)}\r\n`,
    `${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(40)}${OK}\r\n`,
  ]
  const upstream = await openBytes(t, (socket) => end(socket, answers[0]!))
  const api = await openFront(t, upstream.url)
  while (answers.length > 0) {
    const { status } = await api.get('/api/v2/invoices')
    assert.equal(status, 502, answers.shift() ?? '')
  }
})

test('bytes behind an answer belong to no other request', async (t) => {
  const extra = `${OK}Content-Length: 4\r\n\r\nevil`
  const upstream = await openBytes(t, (socket) =>
    reply(socket, `${OK}Content-Length: 2\r\n\r\nok${extra}`),
  )
  const api = await openFront(t, upstream.url)
  for (let i = 0; i < 5; i++) assert.equal((await api.get('/api/v2/invoices')).text, 'ok')
})

test('line breaks of a client reach no upstream as headers', async (t) => {
  const upstream = await openUpstream(t)
  const api = await openFront(t, upstream.url)
  const { url } = await api.app.listen()
  const key = await api.key({ scopes: ['invoices:read', 'invoices:write'] })
  const raw = (text: string) =>
    new Promise<string>((resolve) => {
      const { hostname, port } = new URL(url)
      let answer = ''
      const socket = connect(Number(port), hostname, () => void socket.end(text))
      socket.on('data', (chunk) => void (answer += chunk)).on('close', () => resolve(answer))
    })
  const host = new URL(url).host
  const head = `POST /api/v2/payments HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${key}\r\n`
  const smuggled = '0\r\n\r\nGET /base/admin HTTP/1.1\r\nHost: a\r\n\r\n'
  for (const framing of [
    `Content-Length: ${smuggled.length}\r\nTransfer-Encoding: chunked\r\n`,
    `Transfer-Encoding: chunked, identity\r\n`,
    `Transfer-Encoding: xchunked\r\n`,
    `Content-Length: 0\r\nContent-Length: ${smuggled.length}\r\n`,
    `Transfer-Encoding : chunked\r\n`,
  ]) {
    assert.match(await raw(`${head}${framing}\r\n${smuggled}`), /^HTTP\/1\.1 400/, framing)
  }
  // As a body, the same bytes are a body.
  await raw(
    `${head}Content-Type: text/plain\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
  )
  assert.deepEqual(
    upstream.received.map(({ path, body }) => [path, body]),
    [['/payments', smuggled]],
  )
})

test('an endless or huge answer ends at its bound, and a slow one at its time', async (t) => {
  const part = 'x'.repeat(65_536)
  const endless = await openUpstream(t, (_, response) => {
    const write = () => {
      while (!response.destroyed && response.write(part));
      response.once('drain', write)
    }
    write()
  })
  const api = await openFront(t, endless.url)
  const { status, body } = await api.get('/api/v2/invoices')
  assert.deepEqual([status, body.error], [502, 'upstream_failed'])
  assert.equal((await api.get('/api/v2/invoices/7')).body.error, 'upstream_invalid')
  await until(() => endless.sockets.size === 0)
  for (const begin of ['', OK, `${OK}Content-Length: 9\r\n\r\nhalf`]) {
    const slow = await openBytes(t, (socket) => reply(socket, begin))
    const front = await openFront(t, slow.url, 1_000)
    const late = await front.get('/api/v2/invoices')
    assert.deepEqual([late.status, late.body.error], [504, 'upstream_timeout'])
    assert.equal(slow.count(), 1)
    await until(() => slow.sockets.size === 0)
  }
})

test('requests that hang in one upstream slow no other route, and are bounded', async (t) => {
  const hanging = await openUpstream(t, () => undefined)
  const api = await openFront(t, hanging.url)
  const { url } = await api.app.listen()
  const headers = { 'x-api-key': await api.key({ scopes: ['invoices:read'] }) }
  const leaving = new AbortController()
  const { requestsOfOwner } = UPSTREAM_LIMITS
  const all = Array.from({ length: requestsOfOwner }, () =>
    fetch(`${url}/api/v2/invoices`, { headers, signal: leaving.signal }).catch(() => 'left'),
  )
  await until(() => hanging.received.length === requestsOfOwner)
  assert.equal(hanging.sockets.size, requestsOfOwner)
  assert.deepEqual((await api.get('/api/v2/own')).body, { own: true })
  const beyond = await api.get('/api/v2/invoices')
  assert.deepEqual([beyond.status, beyond.body.error], [503, 'overloaded'])
  assert.equal(beyond.headers['retry-after'], '1')
  leaving.abort()
  assert.deepEqual(new Set(await Promise.all(all)), new Set(['left']))
  // A client that leaves ends its request to the upstream.
  await until(() => hanging.sockets.size === 0)
  hanging.respond = (_, response) => void response.end('ok')
  assert.equal((await api.get('/api/v2/invoices')).text, 'ok')
})

test('a stream follows its reader, and ends with it', async (t) => {
  let written = 0
  const part = Buffer.alloc(65_536)
  const upstream = await openUpstream(t, (_, response) => {
    const write = () => {
      do written += part.length
      while (!response.destroyed && response.write(part))
      response.once('drain', write)
    }
    write()
  })
  const api = await openFront(t, upstream.url)
  const { url } = await api.app.listen()
  const headers = { 'x-api-key': await api.key({ scopes: ['invoices:read'] }) }
  const request = get(`${url}/api/v2/export`, { headers, agent: false })
  const response = await new Promise<import('node:http').IncomingMessage>((resolve) =>
    request.on('response', resolve),
  )
  response.once('readable', () => undefined)
  await until(() => written > 0)
  let before = -1
  // The client does not read: the upstream stops writing.
  await until(() => before === (before = written))
  assert.ok(written < 64 * 1024 * 1024, `${written} bytes`)
  request.destroy()
  await until(() => upstream.sockets.size === 0)
})
