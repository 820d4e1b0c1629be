/** Attempts over real sockets: the request sent, the bounded response, the reuse of connections. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { createReceiver, createTestTransport, response, statusOrReason } from './receivers.ts'

test('the body is sent byte for byte, and the outcome contains the response', async (t) => {
  const { url, requests } = await createReceiver(t, (socket) =>
    socket.write(
      response('{"received":true}', 202, ['X-Trace: a', 'x-trace: b', 'Retry-After: 7']),
    ),
  )
  const body = '{"name":"Zoë","n":1.10}'
  const { post } = createTestTransport(t)
  const outcome = await post(url, body)
  assert.ok(outcome.kind === 'answered')
  assert.deepEqual(
    [outcome.status, outcome.body, outcome.headers['x-trace'], outcome.retryAfter],
    [202, '{"received":true}', 'a, b', '7'],
  )
  assert.ok(outcome.durationMs >= 0)
  const [request] = requests
  assert.match(request!, /^POST \/hook\?a=1 HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\n/i)
  assert.match(request!, /\r\ncontent-length: 24\r\n/i)
  assert.ok(request!.endsWith(`\r\n\r\n${body}`))
})

test('connections are reused; concurrent attempts each have one', async (t) => {
  const { url, sockets, requests } = await createReceiver(t, (socket) => socket.write(response('')))
  const { post, connections } = createTestTransport(t)
  for (let n = 0; n < 5; n++) assert.equal(statusOrReason(await post(url)), 200)
  assert.deepEqual([sockets.length, requests.length], [1, 5])
  await Promise.all(Array.from({ length: 4 }, () => post(url)))
  assert.deepEqual([sockets.length, requests.length], [4, 9])
  assert.deepEqual(connections(), { open: 4, idle: 4 })
})

test('a slow receiver does not delay other attempts to the same host', async (t) => {
  const { url, sockets } = await createReceiver(t, (socket, _, request) => {
    if (!request.includes('slow')) socket.write(response(''))
  })
  const { post, close } = createTestTransport(t)
  const slow = Array.from({ length: 40 }, () => post(url, 'slow'))
  assert.equal(statusOrReason(await post(url, 'quick')), 200)
  assert.ok(sockets.length > 1)
  close()
  assert.deepEqual([...new Set((await Promise.all(slow)).map(statusOrReason))], ['aborted'])
})

test('a request on a reused connection that the receiver has closed is resent once', async (t) => {
  const { url, sockets, requests } = await createReceiver(t, (socket, n) => {
    if (n === 1) socket.write(response(''))
    else socket.destroy()
  })
  const { post } = createTestTransport(t)
  assert.deepEqual([statusOrReason(await post(url)), statusOrReason(await post(url))], [200, 200])
  assert.deepEqual([sockets.length, requests.length], [2, 3])
})

test('when all idle connections are stale, each attempt opens a new one', async (t) => {
  const first = await createReceiver(t, (socket) => socket.write(response('')))
  const { post } = createTestTransport(t)
  await Promise.all(Array.from({ length: 3 }, () => post(first.url)))
  await first.close()
  const restarted = await createReceiver(t, (socket) => socket.write(response('')), {
    port: first.port,
  })
  const after = await Promise.all(Array.from({ length: 3 }, () => post(restarted.url)))
  assert.deepEqual(after.map(statusOrReason), [200, 200, 200])
})

test('a request on a new connection that is reset is not resent', async (t) => {
  const { url, requests } = await createReceiver(t, (socket) => socket.destroy())
  const { post, connections } = createTestTransport(t)
  assert.equal(statusOrReason(await post(url)), 'reset')
  assert.equal(requests.length, 1)
  assert.deepEqual(connections(), { open: 0, idle: 0 })
})

for (const begun of ['H', 'HTTP/1.1 1', 'HTTP/1.1 20'])
  test(`a request is not resent after "${begun}" of its response`, async (t) => {
    const { url, requests } = await createReceiver(t, (socket, n) => {
      if (n === 1) socket.write(response(''))
      else socket.end(begun)
    })
    const { post } = createTestTransport(t)
    await post(url)
    assert.equal(statusOrReason(await post(url)), 'reset')
    assert.equal(requests.length, 2)
  })

test('a request is resent at most once', async (t) => {
  let count = 0
  const { url, requests } = await createReceiver(t, (socket) => {
    if (++count === 1) socket.write(response(''))
    else socket.destroy()
  })
  const { post } = createTestTransport(t)
  await post(url)
  assert.equal(statusOrReason(await post(url)), 'reset')
  assert.equal(requests.length, 3)
})

test('after Connection: close, the next attempt opens a new connection', async (t) => {
  const { url, sockets } = await createReceiver(t, (socket) =>
    socket.end(response('done', 200, ['Connection: close'])),
  )
  const { post } = createTestTransport(t)
  for (let n = 0; n < 3; n++) assert.equal(statusOrReason(await post(url)), 200)
  assert.equal(sockets.length, 3)
})

test('an aborted attempt ends at once and closes its connection', async (t) => {
  const stop = new AbortController()
  const { url, sockets } = await createReceiver(t, () => stop.abort())
  const { send, connections } = createTestTransport(t)
  const outcome = await send({ url, body: '', headers: {} }, stop.signal)
  assert.equal(statusOrReason(outcome), 'aborted')
  assert.equal(connections().open, 0)
  if (!sockets[0]!.destroyed) await once(sockets[0]!, 'close')
  const early = await send({ url, body: '', headers: {} }, AbortSignal.abort())
  assert.deepEqual([statusOrReason(early), sockets.length], ['aborted', 1])
})

test('after close, an attempt is aborted before it is sent', async (t) => {
  const { url, requests } = await createReceiver(t, (socket) => socket.write(response('')))
  const { post, close } = createTestTransport(t)
  assert.equal(statusOrReason(await post(url)), 200)
  close()
  assert.deepEqual([statusOrReason(await post(url)), requests.length], ['aborted', 1])
})

test('a refused connection and an unknown name are reported as such', async (t) => {
  const { url, close } = await createReceiver(t, () => undefined)
  await close()
  const { post } = createTestTransport(t, {
    resolve: async () => Promise.reject(new Error('NXDOMAIN')),
  })
  const refused = await post(url)
  assert.equal(statusOrReason(refused), 'refused')
  const unknown = await post('http://nowhere.test/')
  assert.deepEqual(unknown.kind === 'failed' && [unknown.reason, unknown.message], [
    'address',
    'the host name leads to no address that may be called',
  ])
})
