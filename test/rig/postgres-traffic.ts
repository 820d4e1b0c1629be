/**
 * Counts the messages to PostgreSQL through a proxy: the round trips, after which the server
 * reports that it is ready, and the statements.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

const QUERY = 0x51
const SYNC = 0x53
const BIND = 0x42

export interface Traffic {
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
export async function startTrafficProxy(
  t: TestContext,
  url: string,
): Promise<{ url: string; traffic: Traffic }> {
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
