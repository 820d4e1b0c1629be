/**
 * Counts the round trips to PostgreSQL of a request: the messages after which the server reports
 * that it is ready. A proxy between the app and the server reads them.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { migratedUrl } from '../../../../test/rig/databases.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'

const QUERY = 0x51
const SYNC = 0x53
const BIND = 0x42

interface Traffic {
  roundTrips: number
  statements: number
}

/** Returns a function that counts the messages of one client; the first one has no type. */
function createMessageCounter(traffic: Traffic): (chunk: Buffer) => void {
  let buffer: Buffer = Buffer.alloc(0)
  let isStarted = false
  return (chunk) => {
    buffer = Buffer.concat([buffer, chunk])
    for (;;) {
      const head = isStarted ? 1 : 0
      if (buffer.length < head + 4) return
      const end = head + buffer.readInt32BE(head)
      if (buffer.length < end) return
      const type = isStarted ? buffer[0] : undefined
      if (type === QUERY || type === SYNC) traffic.roundTrips++
      if (type === QUERY || type === BIND) traffic.statements++
      isStarted = true
      buffer = buffer.subarray(end)
    }
  }
}

/** Starts a proxy before the server of `url`; returns its URL and the traffic through it. */
async function startProxy(t: TestContext, url: string): Promise<{ url: string; traffic: Traffic }> {
  const traffic: Traffic = { roundTrips: 0, statements: 0 }
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    const count = createMessageCounter(traffic)
    client.on('data', count)
    client.pipe(upstream).pipe(client)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const own = new URL(url)
  own.hostname = '127.0.0.1'
  own.port = String((server.address() as AddressInfo).port)
  return { url: own.href, traffic }
}

/** Opens an app without background work, and returns a function that counts a request. */
async function openCounted(t: TestContext): Promise<{
  service: TestApp
  count: (send: () => Promise<{ status: number }>) => Promise<Traffic>
}> {
  const { url, traffic } = await startProxy(t, await migratedUrl(t, 'postgres'))
  const service = await openService(t, 'postgres', { url, env: { GATEHOOK_ROLE: 'api' } })
  const count = async (send: () => Promise<{ status: number }>): Promise<Traffic> => {
    // The least of several requests contains no poll of the background.
    let least: Traffic = { roundTrips: Number.POSITIVE_INFINITY, statements: 0 }
    for (let run = 0; run < 8; run++) {
      const before = { ...traffic }
      const { status } = await send()
      assert.ok(status < 300, String(status))
      const roundTrips = traffic.roundTrips - before.roundTrips
      const statements = traffic.statements - before.statements
      if (roundTrips < least.roundTrips) least = { roundTrips, statements }
    }
    return least
  }
  return { service, count }
}

test('a request takes few round trips to PostgreSQL', async (t) => {
  const { service, count } = await openCounted(t)
  const user = await service.post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
  const order = { user_id: user.body.id, amount: 1200, currency: 'EUR' }
  const post = await count(() => service.post('/api/v2/orders', order))
  let key = 0
  const repeatable = await count(() =>
    service.post('/api/v2/orders', order, { 'idempotency-key': `key-${++key}` }),
  )
  const page = await count(() => service.get('/api/v2/orders?pagination=page&per_page=20'))
  const counts = { post, repeatable, page }
  t.diagnostic(JSON.stringify(counts))
  assert.equal(post.roundTrips, 2)
  assert.equal(repeatable.roundTrips, 3)
  assert.equal(page.roundTrips, 1)
})
