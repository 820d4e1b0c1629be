/** §11.4: handshakes take turns, so that no address stops the process by many at once. */
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { createHandshakeLimit } from './handshake-limit.ts'
import { createHandshakeTurns } from './handshake-turns.ts'

let lastPort = 0

class TestSocket extends PassThrough {
  readonly remoteAddress: string
  readonly remotePort = ++lastPort
  timeoutMs = 0
  silence = () => {}

  constructor(remoteAddress: string) {
    super()
    this.remoteAddress = remoteAddress
  }

  setTimeout(ms: number, onSilence = () => {}): this {
    this.timeoutMs = ms
    this.silence = onSilence
    return this
  }
}

function stage() {
  const begun: string[] = []
  let late: (() => void)[] = []
  const limit = createHandshakeLimit(['192.0.2.99'], (next) => late.push(next))
  let due: (() => void)[] = []
  const enter = createHandshakeTurns<TestSocket>(({ remoteAddress }) => begun.push(remoteAddress), {
    timeoutMs: 10_000,
    limit,
    takeTurn(addressOf, begin) {
      assert.match(addressOf(), /^192/)
      due.push(begin)
    },
  })
  return {
    begun,
    limit,
    /** Opens connections that send their first bytes. */
    async send(count: number, address = '192.0.2.1') {
      const sockets = Array.from({ length: count }, () => new TestSocket(address))
      for (const socket of sockets) {
        enter(socket)
        socket.write('hello')
      }
      await new Promise((resolve) => setImmediate(resolve))
      return sockets
    },
    enter,
    /** Ends the time of handshakes that others wait for. */
    endTime() {
      const ended = late
      late = []
      for (const end of ended) end()
      return new Promise((resolve) => setImmediate(resolve))
    },
    runTurns() {
      for (const begin of due) begin()
      due = []
    },
  }
}

test('a handshake begins in the turn of its address', async () => {
  const { begun, send, runTurns } = stage()
  await send(2)
  assert.equal(begun.length, 0)
  runTurns()
  assert.equal(begun.length, 2)
})

test('a silent connection begins no handshake, and ends', async () => {
  const { begun, enter, send, runTurns } = stage()
  const silent = new TestSocket('192.0.2.1')
  enter(silent)
  assert.equal(silent.timeoutMs, 10_000)
  const [gone, sent] = await send(2)
  gone!.destroy()
  runTurns()
  assert.deepEqual([begun.length, sent!.timeoutMs], [1, 0])
  silent.silence()
  assert.ok(silent.destroyed)
})

test('few handshakes of an address are unfinished, and others begin as they end', async () => {
  const { begun, limit, send, runTurns } = stage()
  const runAll = () => {
    runTurns()
    return begun.length
  }
  const sockets = await send(100)
  assert.equal(runAll(), 32)
  await send(10, '192.0.2.2')
  assert.equal(runAll(), 42, 'another address does not wait')
  limit.end(sockets[0]!)
  limit.end(sockets[0]!)
  assert.equal(runAll(), 43, 'one is secure')
  sockets[40]!.destroy()
  for (const socket of sockets.slice(1, 4)) socket.destroy()
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(runAll(), 46, 'three are gone, and one that waited')
  await send(100, '192.0.2.99')
  assert.equal(runAll(), 146, 'a proxy connects for all clients')
})

test('once the process has many unfinished handshakes, an address has one', async () => {
  const { begun, limit, send, runTurns } = stage()
  const countOf = (address: string) => {
    runTurns()
    return begun.filter((each) => each === address).length
  }
  const busy = [1, 2, 3, 4].map((n) => `192.0.3.${n}`)
  const sockets = []
  for (const address of busy) sockets.push(...(await send(40, address)))
  for (const address of busy) assert.equal(countOf(address), 32)
  await send(5, '192.0.4.1')
  await send(5, '192.0.4.2')
  assert.deepEqual([countOf('192.0.4.1'), countOf('192.0.4.2')], [1, 1])
  for (const socket of sockets) limit.end(socket)
  assert.deepEqual([countOf('192.0.4.1'), countOf('192.0.4.2')], [5, 5])
  for (const address of busy) assert.equal(countOf(address), 40)
})

test('unfinished handshakes have a second while others of their address wait', async () => {
  const { begun, limit, send, runTurns, endTime } = stage()
  const silent = await send(32)
  await endTime()
  assert.ok(
    silent.every(({ destroyed }) => !destroyed),
    'no other one waits',
  )
  const [first] = await send(10)
  runTurns()
  assert.equal(begun.length, 32)
  limit.end(silent[0]!)
  await endTime()
  runTurns()
  assert.equal(begun.length, 42)
  assert.equal(silent.filter(({ destroyed }) => destroyed).length, 9, 'one is secure')
  await endTime()
  assert.equal(first!.destroyed, false, 'none waits any more')
})
