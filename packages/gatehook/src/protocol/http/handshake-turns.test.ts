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
  let after: (() => void)[] = []
  const enter = createHandshakeTurns<TestSocket>(
    ({ remoteAddress }) => begun.push(remoteAddress),
    10_000,
    (next) => after.push(next),
  )
  return {
    begun,
    /** Opens connections that send their first bytes. */
    async send(address: string, count: number) {
      const sockets = Array.from({ length: count }, () => new TestSocket(address))
      for (const socket of sockets) {
        enter(socket)
        socket.write('hello')
      }
      await new Promise((resolve) => setImmediate(resolve))
      return sockets
    },
    enter,
    runTurn() {
      const next = after
      after = []
      for (const call of next) call()
      return next.length
    },
  }
}

test('four handshakes begin in a turn, and addresses take turns', async () => {
  const { begun, send, runTurn } = stage()
  await send('192.0.2.1', 20)
  runTurn()
  await send('192.0.2.2', 2)
  for (let n = 0; n < 9; n++) runTurn()
  assert.equal(begun.length, 22)
  const first = begun.slice(0, 9).map((address) => address.slice(-1))
  assert.deepEqual(first.join(''), '111112121')
  assert.equal(runTurn(), 0, 'an idle server has no turns')
})

test('a silent connection begins no handshake, and ends', async () => {
  const { begun, enter, send, runTurn } = stage()
  const silent = new TestSocket('192.0.2.1')
  enter(silent)
  assert.equal(silent.timeoutMs, 10_000)
  const [gone, sent] = await send('192.0.2.1', 2)
  gone!.destroy()
  runTurn()
  assert.deepEqual([begun.length, sent!.timeoutMs], [1, 0])
  silent.silence()
  assert.ok(silent.destroyed)
})
