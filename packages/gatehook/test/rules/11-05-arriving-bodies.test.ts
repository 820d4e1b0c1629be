/**
 * §11.5: the bodies that are still arriving are bounded, per caller and per process, in bytes and
 * in chunks. §11.4: a connection does not occupy the process with pipelined requests.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import type { Shares } from '../../src/kernel/budget.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { createIngress } from '../../src/protocol/http/ingress.ts'
import { request, start, talk } from '../http/rig.ts'

const MIB = 1_048_576
const bounds: Shares = {
  ...{ process: 6 * MIB, group: 4 * MIB, caller: 4 * MIB },
  ...{ small: MIB, stalledMs: 1000 },
}

/** Starts a server that trusts forwarded addresses, with a clock that the test sets. */
async function stage(t: TestContext) {
  const time = { ms: 0 }
  const ingress = createIngress({ elapsedMs: () => time.ms }, bounds)
  const rig = await start(t, { ingress, trustProxy: '127.0.0.1' })
  const headOf = (address: string, ...headers: string[]) =>
    [
      'POST /api/orders HTTP/1.1',
      'Host: api.example',
      'Connection: close',
      `X-Forwarded-For: ${address}`,
      'X-Forwarded-Proto: https',
      'Content-Type: application/json',
      ...headers,
      '\r\n',
    ].join('\r\n')
  /** Sends all but the last byte of 1 MiB. */
  const slow = async (address: string) => {
    const socket = net.connect(rig.port, '127.0.0.1')
    onEnd(t, () => socket.destroy())
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(headOf(address, `Content-Length: ${MIB}`))
    socket.write(' '.repeat(MIB - 1))
    return { status: () => Number(text.split(' ')[1] ?? 0), socket }
  }
  const whole = async (address: string, bytes: number) => {
    const body = `"${'x'.repeat(bytes - 2)}"`
    return (await talk(rig.port, `${headOf(address, `Content-Length: ${bytes}`)}${body}`))[0]!
  }
  return { ...rig, ingress, time, slow, whole, headOf }
}

const until = (check: () => boolean) => eventually(async () => check(), Boolean)

test('a caller with too many unfinished bodies gets 503; another caller is served', async (t) => {
  const { ingress, slow, whole } = await stage(t)
  for (let count = 0; count < 4; count++) await slow('192.0.2.1')
  await until(() => ingress.total === 4 * MIB)
  const refused = await slow('192.0.2.1')
  await until(() => refused.status() === 503)
  assert.equal(ingress.total, 4 * MIB)
  assert.equal((await whole('192.0.2.2', MIB)).status, 200)
})

test('a full process cuts the body that began first, once it is slow', async (t) => {
  const { ingress, time, slow, whole } = await stage(t)
  const [first] = [await slow('192.0.2.1')]
  await until(() => ingress.total === MIB)
  for (let count = 2; count <= 6; count++) await slow(`192.0.2.${count}`)
  await until(() => ingress.total === 6 * MIB)
  assert.equal((await whole('192.0.2.7', MIB)).status, 503)
  assert.equal(first!.status(), 0)
  time.ms = bounds.stalledMs
  assert.equal((await whole('192.0.2.7', MIB)).status, 200)
  await until(() => first!.status() === 503)
})

test('a caller who leaves releases the bytes of its body', async (t) => {
  const { ingress, slow } = await stage(t)
  const { socket } = await slow('192.0.2.1')
  await until(() => ingress.total > 0)
  socket.destroy()
  await until(() => ingress.total === 0)
})

test('a body in tiny chunks takes the memory of its bytes, at most 16,384 of them', async (t) => {
  const { ingress, headOf, port } = await stage(t)
  const chunked = headOf('192.0.2.1', 'Transfer-Encoding: chunked')
  const bytes = (count: number) => `1\r\n"\r\n${'1\r\nx\r\n'.repeat(count - 2)}1\r\n"\r\n`
  const [few] = await talk(port, chunked, bytes(16_384), '0\r\n\r\n')
  assert.equal(few?.status, 200)
  assert.equal(JSON.parse(few.body).bytes, 16_384)
  const [many] = await talk(port, chunked, bytes(16_385), '0\r\n\r\n')
  assert.equal(many?.status, 413)
  assert.equal(ingress.total, 0)
})

/** Writes requests at once and returns the responses of the connection. */
const pipeline = (port: number, line: string, count: number) =>
  talk(port, `${line} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(count))

test('a connection with too many pipelined requests ends after the bound', async (t) => {
  const rig = await start(t)
  const responses = await pipeline(rig.port, 'GET /api/orders/7', 500)
  assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]))
  assert.equal(responses.length, 8)
  assert.equal(rig.lines.length, 8, 'the others are not handled')
})

test('pipelined requests are served one after the other, those with bodies too', async (t) => {
  let [open, most] = [0, 0]
  const served: string[] = []
  const rig = await start(t, {
    head: [
      async ({ path }) => {
        most = Math.max(most, ++open)
        await new Promise((resolve) => setImmediate(resolve))
        served.push(path)
        open--
      },
    ],
  })
  const body = JSON.stringify({ note: 'x'.repeat(30_000) })
  const post = () =>
    `POST /api/orders HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`
  const get = (id: number) => `GET /api/orders/${id} HTTP/1.1\r\nHost: localhost\r\n\r\n`
  const last = 'GET /api/orders/6 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
  const answers = await talk(rig.port, post() + get(2) + post() + get(4) + post() + last)
  assert.equal(answers.length, 6)
  assert.deepEqual(
    served,
    ['', '/2', '', '/4', '', '/6'].map((id) => `/api/orders${id}`),
  )
  assert.equal(most, 1)
})

test('requests that wait for others are bounded over all connections', async (t) => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let begun = 0
  const hold = () => {
    begun++
    return held
  }
  const rig = await start(t, { head: [hold] })
  const line = 'GET /api/orders/7 HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const requests = line.repeat(7) + request('GET /api/orders/7')
  const connections = 200
  const all = Array.from({ length: connections }, () => talk(rig.port, requests))
  await until(() => begun === connections)
  release()
  const counts = (await Promise.all(all)).map(({ length }) => length)
  const sum = counts.reduce((total, count) => total + count, 0)
  assert.ok(counts.every((count) => count >= 1))
  assert.equal(sum, connections + 1_024)
})

test('requests behind a response that closes the connection are not handled', async (t) => {
  const rig = await start(t)
  const last = request('GET /healthz')
  assert.equal((await talk(rig.port, last + request('DELETE /api/orders/7'))).length, 1)
  assert.equal(rig.lines.length, 1)
})

test('a connection that pipelines beyond its request limit ends', async (t) => {
  const limited = () => {
    throw new Failure('rate_limited')
  }
  const rig = await start(t, { head: [limited] })
  const line = 'GET /api/orders HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const responses = await talk(rig.port, line.repeat(20))
  assert.deepEqual(
    responses.map(({ status, headers }) => [status, headers.connection]),
    [[429, 'close']],
  )
})
