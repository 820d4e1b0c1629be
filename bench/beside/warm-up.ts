/**
 * Ordinary load before the quiet measurement. The memory that any load takes (V8's heap, SQLite's
 * page cache, connections) thus counts for quiet, and the difference for the attack.
 */
import { request } from 'node:http'
import type { Server } from '../server.ts'
import { receiver } from './attacks.ts'
import { HTTPS, send, type World } from './world.ts'

const CLIENTS = 8
/** A count instead of a duration, so that a busy machine warms up too. */
const REQUESTS = 4_000
/** Of this many requests, one is an event of `LARGE_BYTES`, and one lists events. */
const LARGE_EVERY = 16
const LARGE_BYTES = 100_000

/**
 * Clients of the measured customer send requests as fast as possible, each on a new connection. A
 * receiver of the customer gets the events.
 */
export async function warmUp(world: World, server: Server): Promise<void> {
  const { quietKeys, quietUserId } = world
  const order = { user_id: quietUserId, amount: 500, currency: 'EUR' }
  const event = { type: 'payment.succeeded', object: { text: 'x'.repeat(LARGE_BYTES) } }
  let n = 0
  const sendNext = (): Promise<void> => {
    const key = quietKeys[n % quietKeys.length]!
    const kind = n++ % LARGE_EVERY
    if (kind === 0) return exchange(server, key, 'POST', '/events', event)
    if (kind === 1) return exchange(server, key, 'GET', '/events?limit=20')
    if (kind % 2 === 0) return exchange(server, key, 'POST', '/api/v2/orders', order)
    return exchange(server, key, 'GET', '/api/v2/orders?limit=100&sort=-amount')
  }
  const client = async () => {
    while (n < REQUESTS) await sendNext()
  }
  const control = new AbortController()
  const url = await receiver(control.signal, 200)
  const hook = { url, events: ['order.created', 'payment.succeeded'] }
  const { id } = await send(server, quietKeys[0]!, 'POST', '/webhooks', hook)
  await Promise.all(Array.from({ length: CLIENTS }, client))
  await send(server, quietKeys[0]!, 'DELETE', `/webhooks/${id}`)
  control.abort()
}

function exchange({ url }: Server, key: string, method: string, path: string, body?: unknown) {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const headers = { 'x-api-key': key, 'content-type': 'application/json', ...HTTPS }
  return new Promise<void>((resolve, reject) => {
    const sent = request(url + path, { method, headers, agent: false }, (answer) => {
      answer.resume().once('end', resolve).once('error', reject)
      if (answer.statusCode! >= 300) reject(new Error(`${method} ${path}: ${answer.statusCode}`))
    })
    sent.once('error', reject).end(text)
  })
}
