/**
 * §11.5: a response without progress for 30 s is cut, and unread bytes are bounded per customer and
 * per process.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { type Call, type Endpoint, json } from '../../src/protocol/http/call.ts'
import { createEgress, type EgressBounds, shed } from '../../src/protocol/http/egress.ts'
import { request, start, talk } from '../http/rig.ts'

const MIB = 1_048_576
/** Exceeds the kernel buffers of a loopback connection. */
const BIG_BYTES = 16 * MIB
const bounds: EgressBounds = {
  responseBytes: 24 * MIB,
  shares: { process: 40 * MIB, group: 24 * MIB, caller: 24 * MIB, small: MIB, stalledMs: 1000 },
  unreadMs: 30_000,
}
const { shares } = bounds
const atBound = { shares: { ...shares, group: BIG_BYTES, caller: BIG_BYTES } }

const big = 'x'.repeat(BIG_BYTES)
const open = { authenticated: false }
const path = (name: string, handle: Endpoint['methods']['GET'] & object): Endpoint => ({
  kind: 'public',
  path: name,
  methods: { GET: handle },
})

/** A server that distinguishes callers by forwarded addresses, with a manual clock. */
async function stage(t: TestContext, some: Partial<EgressBounds> = {}) {
  const time = { ms: 0 }
  const egress = createEgress({ elapsedMs: () => time.ms }, { ...bounds, ...some })
  let handled = 0
  const handle = () => {
    handled++
    return { status: 200, raw: big, headers: { 'content-type': 'text/plain' } }
  }
  const stream = {
    ...open,
    handle: () => ({
      status: 200,
      stream: (out: { write: (text: string) => boolean }) => void out.write(big),
    }),
  }
  const post = { ...open, handle: () => json(200, { ok: true }) }
  const handleInTurn = async (call: Call) => {
    await call.beginLarge()
    return handle()
  }
  const more = [
    path('/big', { ...open, handle }),
    path('/listed', { ...open, handle: handleInTurn }),
    path('/stream', stream),
    { kind: 'public', path: '/change', methods: { POST: post } } satisfies Endpoint,
  ]
  const rig = await start(t, { more, egress, trustProxy: '127.0.0.1', head: [shed(egress)] })
  const from = (address: string) => [
    `X-Forwarded-For: ${address}`,
    'X-Forwarded-Proto: https',
    'Host: api.example',
  ]
  const head = (line: string, address: string) =>
    `${[`${line} HTTP/1.1`, ...from(address)].join('\r\n')}\r\n\r\n`
  /** Sends a request and reads no byte of the response. */
  const unread = async (line: string, address: string) => {
    const socket = net.connect(rig.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.pause()
    onEnd(t, () => socket.destroy())
    await once(socket, 'connect')
    socket.write(head(line, address))
    return socket
  }
  /** Sends a request and reads the whole response. */
  const read = async (line: string, address: string) => {
    const [answer] = await talk(
      rig.port,
      `${[`${line} HTTP/1.1`, 'Connection: close', ...from(address)].join('\r\n')}\r\n\r\n`,
    )
    return answer!
  }
  return { ...rig, egress, time, unread, read, handled: () => handled }
}

const until = (check: () => boolean) => eventually(async () => check(), Boolean)

/** Returns whether the server has ended the connection; bytes sent before are still readable. */
async function isCut(socket: net.Socket): Promise<boolean> {
  let bytes = 0
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length
  })
  socket.resume()
  await once(socket, 'close')
  return bytes < BIG_BYTES
}

for (const line of ['GET /big', 'GET /stream']) {
  test(`${line}: not read for 30 s, it is cut`, async (t) => {
    const { egress, time, unread } = await stage(t)
    const socket = await unread(line, '192.0.2.1')
    await until(() => egress.unreadBytes() > 0)
    time.ms = bounds.unreadMs - 1
    egress.sweep()
    assert.ok(egress.unreadBytes() > 0, 'not before')
    time.ms = bounds.unreadMs
    egress.sweep()
    assert.equal(egress.unreadBytes(), 0)
    assert.ok(await isCut(socket))
  })
}

test('a caller who reads slowly gets the whole response', async (t) => {
  const { egress, time, unread } = await stage(t)
  const socket = await unread('GET /big', '192.0.2.1')
  let bytes = 0
  let ended = false
  socket.on('end', () => {
    ended = true
  })
  while (bytes < BIG_BYTES && !ended) {
    const before = bytes
    await until(() => {
      const chunk = socket.read() as Buffer | null
      bytes += chunk?.length ?? 0
      return bytes - before >= 2 * MIB || bytes >= BIG_BYTES
    })
    time.ms += bounds.unreadMs - 1
    egress.sweep()
  }
  assert.ok(bytes >= BIG_BYTES)
  await until(() => egress.unreadBytes() === 0)
})

test('unread responses of a caller reject its reads, not its writes', async (t) => {
  const { egress, unread, read, handled } = await stage(t)
  await unread('GET /big', '192.0.2.1')
  await until(() => egress.unreadBytes() > 0)
  const refused = await read('GET /big', '192.0.2.1')
  assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '1'])
  assert.equal(JSON.parse(refused.body).error, 'overloaded')
  assert.equal((await read('POST /change', '192.0.2.1')).status, 200)
  const other = await read('GET /big', '192.0.2.2')
  assert.deepEqual([other.status, other.body.length], [200, BIG_BYTES], 'another caller')
  assert.equal(egress.unreadBytes(), BIG_BYTES)
  assert.equal(handled(), 3)
})

test('a caller at its bound is rejected before any work', async (t) => {
  const { egress, unread, read, handled } = await stage(t, atBound)
  await unread('GET /big', '192.0.2.1')
  await until(() => egress.unreadBytes() > 0)
  assert.equal((await read('GET /big', '192.0.2.1')).status, 503)
  assert.equal(handled(), 1)
})

test('of concurrent large reads of a caller, one runs; others are served', async (t) => {
  const { egress, unread, read, handled } = await stage(t, atBound)
  const sockets = await Promise.all(
    Array.from({ length: 10 }, () => unread('GET /listed', '192.0.2.1')),
  )
  const refused = sockets.map(
    (socket) =>
      new Promise<void>((resolve) => {
        socket.once('readable', () => {
          if (String(socket.read(12)).endsWith('503')) resolve()
        })
      }),
  )
  let count = 0
  for (const refusal of refused) void refusal.then(() => count++)
  await until(() => count === 9)
  assert.equal(handled(), 1)
  assert.equal(egress.unreadBytes(), BIG_BYTES)
  assert.equal((await read('GET /listed', '192.0.2.2')).status, 200)
  assert.equal(handled(), 2)
})

test('a process at its bound cuts idle responses, and rejects if none is idle', async (t) => {
  const { egress, time, unread, read } = await stage(t)
  const first = await unread('GET /big', '192.0.2.1')
  await until(() => egress.unreadBytes() === BIG_BYTES)
  await unread('GET /big', '192.0.2.2')
  await until(() => egress.unreadBytes() === 2 * BIG_BYTES)
  assert.equal((await read('GET /big', '192.0.2.3')).status, 503, 'both began a moment ago')
  time.ms = shares.stalledMs
  assert.equal((await read('GET /big', '192.0.2.3')).body.length, BIG_BYTES)
  assert.ok(await isCut(first), 'the one that was not read for longest')
  assert.ok(egress.unreadBytes() <= shares.process)
})

test('small responses add up to the same bound', async (t) => {
  const { egress } = await stage(t, { shares: { ...shares, group: 1000, caller: 1000 } })
  const cut: number[] = []
  for (let n = 0; n < 5; n++) {
    const owner = { group: 'a', caller: 'a' }
    if (!egress.hold({ owner, bytes: 300, cut: assert.fail })) cut.push(n)
  }
  assert.ok(egress.hold({ owner: { group: 'b', caller: 'b' }, bytes: 300, cut: assert.fail }))
  assert.deepEqual(cut, [3, 4])
  assert.equal(egress.unreadBytes(), 1200)
})

test('a response over the bound is not sent', async (t) => {
  const { read } = await stage(t, { responseBytes: BIG_BYTES - 1 })
  const { status, body } = await read('GET /big', '192.0.2.1')
  assert.deepEqual([status, JSON.parse(body).error], [400, 'page_too_large'])
})

test('pipelined responses arrive in order', async (t) => {
  const { port } = await stage(t, {
    shares: { ...shares, group: shares.process, caller: shares.process },
  })
  const first = request('GET /big').replace('close', 'keep-alive')
  const answers = await talk(port, first, request('GET /big'))
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body.length]),
    [
      [200, BIG_BYTES],
      [200, BIG_BYTES],
    ],
  )
})
