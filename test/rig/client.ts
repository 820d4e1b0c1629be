/** `gatehook-client` whose requests reach an app without a socket. */
import { type Client, type ClientOptions, createClient } from '../../packages/client/src/client.ts'
import type { Caller } from './service.ts'

/** Returns the options of a client that sends its requests as `caller`. */
export const clientOptionsOf = (caller: Pick<Caller, 'send'>): ClientOptions => ({
  baseUrl: 'http://localhost',
  retries: 0,
  async fetch(url, init) {
    const path = String(url).slice('http://localhost'.length)
    const { body, method = 'GET' } = init ?? {}
    const headers = Object.fromEntries(new Headers(init?.headers))
    const reply = await caller.send(method, path, body ?? undefined, headers)
    return new Response(reply.text || null, { status: reply.status, headers: reply.headers })
  },
})

/** Returns a client of a version that sends its requests as `caller`. */
export const clientOf = (caller: Pick<Caller, 'send'>, version: string): Client =>
  createClient({ ...clientOptionsOf(caller), version })
