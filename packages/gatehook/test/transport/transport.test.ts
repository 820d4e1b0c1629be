/** One attempt over a real socket: what is sent, what is kept, how connections are used again. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { answer, receiver, short, transport } from './receivers.ts'

test('the body goes out byte for byte, the answer comes back bounded', async (t) => {
  const { url, requests } = await receiver(t, (socket) =>
    socket.write(answer('{"received":true}', 202, ['X-Trace: a', 'x-trace: b', 'Retry-After: 7'])),
  )
  const body = '{"name":"Zoë","n":1.10}'
  const { post } = transport(t)
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

test('a connection is used again, one for each attempt that runs at once', async (t) => {
  const { url, sockets, requests } = await receiver(t, (socket) => socket.write(answer('')))
  const { post, connections } = transport(t)
  for (let n = 0; n < 5; n++) assert.equal(short(await post(url)), 200)
  assert.deepEqual([sockets.length, requests.length], [1, 5])
  await Promise.all(Array.from({ length: 4 }, () => post(url)))
  assert.deepEqual([sockets.length, requests.length], [4, 9])
  assert.deepEqual(connections(), { open: 4, idle: 4 })
})

test('a slow receiver keeps nobody waiting who is behind the same host', async (t) => {
  const { url, sockets } = await receiver(t, (socket, _, request) => {
    if (!request.includes('slow')) socket.write(answer(''))
  })
  const { post, close } = transport(t)
  const slow = Array.from({ length: 40 }, () => post(url, 'slow'))
  assert.equal(short(await post(url, 'quick')), 200)
  assert.ok(sockets.length > 1)
  close()
  assert.deepEqual([...new Set((await Promise.all(slow)).map(short))], ['aborted'])
})

test('a request on a connection the receiver has just closed is sent once more', async (t) => {
  const { url, sockets, requests } = await receiver(t, (socket, n) => {
    if (n === 1) socket.write(answer(''))
    else socket.destroy()
  })
  const { post } = transport(t)
  assert.deepEqual([short(await post(url)), short(await post(url))], [200, 200])
  assert.deepEqual([sockets.length, requests.length], [2, 3])
})

test('all connections stale at once: each attempt gets a new one', async (t) => {
  const first = await receiver(t, (socket) => socket.write(answer('')))
  const { post } = transport(t)
  await Promise.all(Array.from({ length: 3 }, () => post(first.url)))
  await first.close()
  const again = await receiver(t, (socket) => socket.write(answer('')), { port: first.port })
  const after = await Promise.all(Array.from({ length: 3 }, () => post(again.url)))
  assert.deepEqual(after.map(short), [200, 200, 200])
})

test('a new connection that is reset is not sent on again', async (t) => {
  const { url, requests } = await receiver(t, (socket) => socket.destroy())
  const { post, connections } = transport(t)
  assert.equal(short(await post(url)), 'reset')
  assert.equal(requests.length, 1)
  assert.deepEqual(connections(), { open: 0, idle: 0 })
})

for (const begun of ['H', 'HTTP/1.1 1', 'HTTP/1.1 20'])
  test(`once "${begun}" of the answer was there, nothing is sent again`, async (t) => {
    const { url, requests } = await receiver(t, (socket, n) => {
      if (n === 1) socket.write(answer(''))
      else socket.end(begun)
    })
    const { post } = transport(t)
    await post(url)
    assert.equal(short(await post(url)), 'reset')
    assert.equal(requests.length, 2)
  })

test('the second sending is the last', async (t) => {
  let all = 0
  const { url, requests } = await receiver(t, (socket) => {
    if (++all === 1) socket.write(answer(''))
    else socket.destroy()
  })
  const { post } = transport(t)
  await post(url)
  assert.equal(short(await post(url)), 'reset')
  assert.equal(requests.length, 3)
})

test('a receiver that ends the connection with its answer is dialled anew', async (t) => {
  const { url, sockets } = await receiver(t, (socket) =>
    socket.end(answer('done', 200, ['Connection: close'])),
  )
  const { post } = transport(t)
  for (let n = 0; n < 3; n++) assert.equal(short(await post(url)), 200)
  assert.equal(sockets.length, 3)
})

test('an aborted attempt ends at once and takes its connection with it', async (t) => {
  const stop = new AbortController()
  const { url, sockets } = await receiver(t, () => stop.abort())
  const { send, connections } = transport(t)
  const outcome = await send({ url, body: '', headers: {} }, stop.signal)
  assert.equal(short(outcome), 'aborted')
  assert.equal(connections().open, 0)
  if (!sockets[0]!.destroyed) await once(sockets[0]!, 'close')
  const early = await send({ url, body: '', headers: {} }, AbortSignal.abort())
  assert.deepEqual([short(early), sockets.length], ['aborted', 1])
})

test('after close, attempts are aborted instead of sent', async (t) => {
  const { url, requests } = await receiver(t, (socket) => socket.write(answer('')))
  const { post, close } = transport(t)
  assert.equal(short(await post(url)), 200)
  close()
  assert.deepEqual([short(await post(url)), requests.length], ['aborted', 1])
})

test('nobody there, nobody of that name', async (t) => {
  const { url, close } = await receiver(t, () => undefined)
  await close()
  const { post } = transport(t, { resolve: async () => Promise.reject(new Error('NXDOMAIN')) })
  const refused = await post(url)
  assert.equal(short(refused), 'refused')
  const unknown = await post('http://nowhere.test/')
  assert.deepEqual(unknown.kind === 'failed' && [unknown.reason, unknown.message], [
    'dns',
    'the host name has no address',
  ])
})
