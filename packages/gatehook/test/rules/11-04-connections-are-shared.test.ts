/** §11.4: the connections of a process are bounded, and one address does not take them all. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { createConnectionLimit } from '../../src/protocol/http/connection-limit.ts'
import { request, start, talk } from '../http/rig.ts'

test('one address leaves most connections to the others', () => {
  const limit = createConnectionLimit(1000)
  let count = 0
  while (limit.open('2001:db8::1:2')) count += 1
  assert.equal(count, 200)
  assert.equal(limit.open('2001:db8::9:9'), undefined, 'of the same /64')
  const release = limit.open('192.0.2.1')
  assert.ok(release)
  for (let client = 0; client < 2000; client++) {
    const address = `10.0.${client >> 8}.${client & 255}`
    assert.equal(limit.open(address) !== undefined, client < 799, address)
  }
  release()
  assert.ok(limit.open('192.0.2.2'), 'a closed connection is free')
})

test('the blocks of one site leave most connections to the others', () => {
  const limit = createConnectionLimit(1000)
  const releases: (() => void)[] = []
  for (let block = 0; block < 2000; block++) {
    const release = limit.open(`2001:db8:7:${block.toString(16)}::1`)
    if (release) releases.push(release)
  }
  assert.equal(releases.length, 334)
  assert.equal(limit.open('2001:db8:7:ffff::1'), undefined, 'a new /64 of the same /48')
  assert.ok(limit.open('2001:db8:8::1'), 'another /48')
  assert.ok(limit.open('::ffff:192.0.2.1'), 'IPv4')
  for (const release of releases) release()
  for (let count = 0; count < 200; count++) assert.ok(limit.open('2001:db8:7::1'), String(count))
})

test('a trusted proxy has no share', () => {
  const limit = createConnectionLimit(100, ['10.0.0.0/8'])
  for (let count = 0; count < 100; count++) assert.ok(limit.open('::ffff:10.1.2.3'))
  assert.equal(limit.open('10.1.2.3'), undefined)
})

test('a connection beyond the share ends, until another one has ended', async (t) => {
  const { port } = await start(t, { limits: { connections: 64 } })
  const sockets: net.Socket[] = []
  for (let count = 0; count < 16; count++) {
    const socket = net.connect(port, '127.0.0.1')
    onEnd(t, () => socket.destroy())
    await once(socket, 'connect')
    socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await once(socket, 'data')
    sockets.push(socket)
  }
  assert.deepEqual(await talk(port, request('GET /healthz')).catch(() => []), [])
  sockets[0]!.end()
  await once(sockets[0]!, 'close')
  const [response] = await talk(port, request('GET /healthz'))
  assert.equal(response?.status, 200)
})
