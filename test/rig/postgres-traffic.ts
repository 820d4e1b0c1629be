/**
 * Counts the messages to PostgreSQL through a proxy: the round trips, after which the server
 * reports that it is ready, and the statements.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { onEnd } from './cleanup.ts'

const QUERY = 0x51
const SYNC = 0x53
const BIND = 0x42
const READY_FOR_QUERY = 0x5a

export interface Traffic {
  roundTrips: number
  statements: number
  /** Round trips whose response has not ended. */
  pending: number
}

/** Returns a function that passes on the type of each message; `hasHead`: also of the first one. */
function createMessageReader(
  onMessage: (type: number | undefined) => void,
  hasHead: boolean,
): (chunk: Buffer) => void {
  let buffer: Buffer = Buffer.alloc(0)
  let head = hasHead ? 1 : 0
  return (chunk) => {
    buffer = Buffer.concat([buffer, chunk])
    while (buffer.length >= head + 4) {
      const end = head + buffer.readInt32BE(head)
      if (buffer.length < end) return
      onMessage(head === 1 ? buffer[0] : undefined)
      head = 1
      buffer = buffer.subarray(end)
    }
  }
}

/** Counts the messages of one connection. */
function countMessages(client: Socket, server: Socket, traffic: Traffic): void {
  let pending = 0
  const countPending = (change: number) => {
    pending += change
    traffic.pending += change
  }
  const readClient = createMessageReader((type) => {
    if (type === QUERY || type === BIND) traffic.statements++
    if (type !== QUERY && type !== SYNC) return
    traffic.roundTrips++
    countPending(1)
  }, false)
  // The first one ends the login, which the client begins without a message that counts.
  const readServer = createMessageReader((type) => {
    if (type === READY_FOR_QUERY && pending > 0) countPending(-1)
  }, true)
  client.on('data', readClient)
  server.on('data', readServer)
  client.on('close', () => countPending(-pending))
}

/** Starts a proxy before the server of `url`; returns its URL and the traffic through it. */
export async function startTrafficProxy(
  t: TestContext,
  url: string,
): Promise<{ url: string; traffic: Traffic }> {
  const traffic: Traffic = { roundTrips: 0, statements: 0, pending: 0 }
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    countMessages(client, upstream, traffic)
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
  onEnd(t, () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const own = new URL(url)
  own.hostname = '127.0.0.1'
  own.port = String((server.address() as AddressInfo).port)
  return { url: own.href, traffic }
}
