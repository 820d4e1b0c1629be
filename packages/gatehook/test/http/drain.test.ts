import assert from 'node:assert/strict'
import net from 'node:net'
import { test } from 'node:test'
import { answersIn, start, talk, withSlow } from './rig.ts'

const KEPT = 'HTTP/1.1\r\nHost: localhost\r\n\r\n'

function open(port: number) {
  const socket = net.connect(port, '127.0.0.1')
  const chunks: Buffer[] = []
  const first = Promise.withResolvers<void>()
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    first.resolve()
  })
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  return { socket, closed, first: first.promise, answers: () => answersIn(Buffer.concat(chunks)) }
}

test('draining closes idle connections and completes requests in flight', async (t) => {
  const { server, port, gate, entered } = await withSlow(t)
  const idle = open(port)
  idle.socket.write(`GET /healthz ${KEPT}`)
  await idle.first
  const silent = open(port)
  const busy = open(port)
  busy.socket.write(`GET /slow ${KEPT}`)
  await entered.promise

  const drained = server.drain(10_000)
  await idle.closed
  await assert.rejects(talk(port, `GET /healthz ${KEPT}`), { code: 'ECONNREFUSED' })
  gate.resolve()
  assert.equal(await drained, true)
  await Promise.all([busy.closed, silent.closed])
  const [answer] = busy.answers()
  assert.deepEqual([answer?.status, answer?.body], [200, '"done"'])
  assert.equal(answer?.headers.connection, 'close')
})

test('requests that have reached the machine are answered before the server closes', async (t) => {
  const { server, port } = await start(t)
  const idle = open(port)
  idle.socket.write(`GET /healthz ${KEPT}`)
  await idle.first
  idle.socket.write(`GET /healthz ${KEPT}`)
  const fresh = open(port)
  fresh.socket.write(`GET /healthz ${KEPT}`)
  await new Promise(process.nextTick) // the kernel has accepted the connection
  assert.equal(await server.drain(10_000), true)
  await Promise.all([idle.closed, fresh.closed])
  assert.deepEqual([idle.answers().length, fresh.answers().length], [2, 1])
})

test('draining has a time limit, and reports unfinished requests', async (t) => {
  const { server, port, entered } = await withSlow(t)
  const busy = open(port)
  busy.socket.write(`GET /slow ${KEPT}`)
  await entered.promise
  assert.equal(await server.drain(50), false)
  await busy.closed
  assert.deepEqual(busy.answers(), [])
})

test('without requests in flight, draining is immediate, and may be repeated', async (t) => {
  const { server } = await start(t)
  assert.equal(await server.drain(10_000), true)
  await server.close()
})

test('a connection that ends after CONNECT does not delay draining', async (t) => {
  const { server, port, entered } = await withSlow(t)
  const gone = open(port)
  gone.socket.write(`GET /slow ${KEPT}GET /api/orders ${KEPT}CONNECT evil.example:443 ${KEPT}`)
  await entered.promise
  gone.socket.destroy()
  assert.equal(await server.drain(5_000), true)
})
