/** §11.4: handshakes take turns, so that no address stops the process by many at once. */
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { createHandshakeTurns } from './handshake-turns.ts'

class TestSocket extends PassThrough {
  readonly remoteAddress: string
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
  let due: (() => void)[] = []
  const enter = createHandshakeTurns<TestSocket>(
    ({ remoteAddress }) => begun.push(remoteAddress),
    10_000,
    (addressOf, begin) => {
      assert.equal(addressOf(), '192.0.2.1')
      due.push(begin)
    },
  )
  return {
    begun,
    /** Opens connections that send their first bytes. */
    async send(count: number) {
      const sockets = Array.from({ length: count }, () => new TestSocket('192.0.2.1'))
      for (const socket of sockets) {
        enter(socket)
        socket.write('hello')
      }
      await new Promise((resolve) => setImmediate(resolve))
      return sockets
    },
    enter,
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
