/** §17.5: a stream of an upstream arrives whole, whenever its reader pauses and it ends. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { createUpstreams } from '../../src/outbound/transport/upstreams.ts'

const PART = 'x'.repeat(8_000)
const HEADS = {
  'that closes its connection':
    'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n',
  'of HTTP/1.0': 'HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n',
} as const

for (const [kind, head] of Object.entries(HEADS)) {
  for (const parts of [0, 1, 20]) {
    test(`a body of ${parts} parts of an upstream ${kind} arrives whole`, async (t) => {
      const server = createServer((socket) => {
        socket.on('error', () => undefined)
        socket.once('data', async () => {
          socket.write(head)
          for (let n = 0; n < parts; n++) {
            socket.write(PART)
            for (let wait = 0; wait < 5; wait++) await nextTurn()
          }
          socket.end()
        })
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      onEnd(t, () => server.close())
      const { port } = server.address() as { port: number }
      const upstreams = createUpstreams({ elapsedMs: () => performance.now() })
      onEnd(t, () => upstreams.close())
      const outcome = await upstreams.send(
        {
          ...{ origin: `http://127.0.0.1:${port}`, method: 'GET', path: '/', headers: {} },
          ...{ body: null, timeoutMs: 20_000, reads: 'stream' },
        },
        { group: 'c', caller: 'k' },
      )
      assert.ok(outcome.kind === 'answered' && outcome.pipe)
      for (let wait = 0; wait < 20; wait++) await nextTurn()
      let bytes = 0
      let end = ''
      await outcome.pipe({
        write(chunk) {
          bytes += chunk.length
          return false
        },
        async drained() {
          for (let wait = 0; wait < 3; wait++) await nextTurn()
        },
        closed: new AbortController().signal,
        end: () => void (end = 'whole'),
        cut: () => void (end = 'cut'),
      })
      assert.deepEqual([bytes, end], [parts * PART.length, 'whole'])
    })
  }
}
