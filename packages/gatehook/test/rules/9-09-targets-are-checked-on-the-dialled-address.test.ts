/** §9.9: the engine checks the target on the address that it dials; responses are bounded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LIMITS } from '../../src/outbound/transport/transport.ts'
import {
  createReceiver,
  createTestTransport,
  response,
  statusOrReason,
} from '../transport/receivers.ts'

const at = (address: string) => ({ address, family: address.includes(':') ? 6 : 4 }) as const

test('a name that resolves to a private address after registration is refused', async (t) => {
  const { port, sockets } = await createReceiver(t, (socket) => socket.write(response('')), {
    tls: 'good',
  })
  let address = '192.0.2.1'
  let lookups = 0
  const resolve = async () => {
    lookups++
    return [at(address)]
  }
  const { post } = createTestTransport(t, { allowPrivate: false, resolve })
  const absent = createTestTransport(t, { allowPrivate: false, resolve: async () => [] })
  const { durationMs: _, ...unknown } = await absent.post(`https://rebound.test:${port}/`)
  for (const privateAddress of [
    '127.0.0.1',
    '::1',
    '::ffff:127.0.0.1',
    '10.0.0.1',
    '169.254.169.254',
  ]) {
    address = privateAddress
    const { durationMs: _, ...outcome } = await post(`https://rebound.test:${port}/`)
    assert.deepEqual(outcome, unknown, `${privateAddress}: the same as of an unknown name`)
    assert.equal(outcome.kind === 'failed' && outcome.reason, 'address')
  }
  assert.deepEqual([lookups, sockets.length], [5, 0])
})

test('every connection checks its own address', async (t) => {
  const { port, sockets } = await createReceiver(t, (socket) =>
    socket.end(response('', 200, ['Connection: close'])),
  )
  const addresses = ['127.0.0.1', '169.254.169.254']
  const { post } = createTestTransport(t, { resolve: async () => [at(addresses.shift()!)] })
  const url = `http://rebound.test:${port}/`
  assert.deepEqual(
    [statusOrReason(await post(url)), statusOrReason(await post(url))],
    [200, 'address'],
  )
  assert.equal(sockets.length, 1)
})

test('a name with allowed and refused addresses: only allowed ones are dialled', async (t) => {
  const { port, sockets } = await createReceiver(t, (socket) => socket.write(response('')))
  const resolve = async () => [at('169.254.169.254'), at('::ffff:127.0.0.1'), at('127.0.0.1')]
  const { post } = createTestTransport(t, { resolve })
  assert.equal(statusOrReason(await post(`http://mixed.test:${port}/`)), 200)
  assert.equal(sockets.length, 1)
})

test('an address in the URL is checked without a lookup', async (t) => {
  const { port, sockets } = await createReceiver(t, (socket) => socket.write(response('')))
  const resolve = () => assert.fail('an address needs no lookup')
  const strict = createTestTransport(t, { allowPrivate: false, resolve })
  for (const host of ['127.0.0.1', '127.1', '0x7f.1', '2130706433', '[::1]', '[::ffff:7f00:1]']) {
    assert.equal(statusOrReason(await strict.post(`https://${host}:${port}/`)), 'blocked', host)
  }
  assert.equal(statusOrReason(await strict.post(`http://127.0.0.1:${port}/`)), 'blocked', 'http')
  const open = createTestTransport(t, { resolve })
  for (const host of ['169.254.169.254', '[fe80::1]', '0.0.0.0', '[::]', '[::ffff:7f00:1]']) {
    assert.equal(statusOrReason(await open.post(`http://${host}:${port}/`)), 'blocked', host)
  }
  assert.equal(sockets.length, 0)
  assert.equal(statusOrReason(await open.post(`http://127.1:${port}/`)), 200)
})

test('no redirect is followed', async (t) => {
  const inner = await createReceiver(t, (socket) => socket.write(response('secret')))
  for (const status of [301, 302, 303, 307, 308]) {
    const { url } = await createReceiver(t, (socket) =>
      socket.write(response('', status, [`Location: ${inner.url}`])),
    )
    assert.equal(statusOrReason(await createTestTransport(t).post(url)), status)
  }
  assert.equal(inner.sockets.length, 0)
})

test('16 KiB of a body are stored, and the connection ends past 64 KiB', async (t) => {
  const { url, sockets } = await createReceiver(t, (socket, _, request) =>
    socket.write(response('a'.repeat(request.endsWith('more') ? 64 * 1024 + 1 : 64 * 1024))),
  )
  const { post, connections } = createTestTransport(t)
  const whole = await post(url, 'whole')
  assert.deepEqual(connections(), { open: 1, idle: 1 })
  const cut = await post(url, 'more')
  assert.deepEqual(connections(), { open: 0, idle: 0 })
  for (const outcome of [whole, cut]) {
    assert.ok(outcome.kind === 'answered')
    assert.deepEqual([outcome.status, outcome.body], [200, 'a'.repeat(16 * 1024)])
  }
  assert.equal(sockets.length, 1)
})

test('headers are bounded in number and size', async (t) => {
  const lines = (count: number, length: number) =>
    Array.from({ length: count }, (_, n) => `x-${n}: ${'a'.repeat(length)}`)
  const { url } = await createReceiver(t, (socket, _, request) => {
    const [count, length] = request.split('\r\n\r\n')[1]!.split('x').map(Number)
    socket.write(response('', 200, lines(count!, length!)))
  })
  const { post } = createTestTransport(t)
  assert.equal(statusOrReason(await post(url, `${LIMITS.headerCount - 1}x1`)), 200)
  assert.equal(statusOrReason(await post(url, `${LIMITS.headerCount}x1`)), 'too_large')
  assert.equal(statusOrReason(await post(url, '10x1000')), 200)
  assert.equal(statusOrReason(await post(url, '10x2000')), 'too_large')
})
