/** A receiver on this machine that records its requests, and requests that register it. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { breath } from '../../../../test/rig/eventually.ts'
import type { Caller, Reply } from '../../../../test/rig/service.ts'

export interface ReceivedPost {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read any member of an event
  readonly event: any
}

export interface Hook {
  readonly url: string
  readonly calls: ReceivedPost[]
  /** Returns the status of the response, by the event's type. */
  answers: (type: string) => number
  /** The receiver responds after this promise. */
  holds: Promise<unknown>
  /** Resolves once the receiver has got this many requests. */
  until(count: number): Promise<void>
  close(): Promise<void>
}

export async function openHook(t: TestContext): Promise<Hook> {
  let wake = () => {}
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const event = JSON.parse(body)
    hook.calls.push({ headers: request.headers, body, event })
    wake()
    await hook.holds
    response.writeHead(hook.answers(event.type), { 'content-type': 'text/plain' }).end('seen')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  const hook: Hook = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    calls: [],
    answers: () => 200,
    holds: Promise.resolve(),
    async until(count) {
      while (hook.calls.length < count) await new Promise<void>((resolve) => void (wake = resolve))
    },
    close,
  }
  onEnd(t, close)
  return hook
}

/** The scopes of a registration that a key with every scope creates. */
export const ALL_READ_SCOPES = [
  'events:read',
  'keys:read',
  'orders:read',
  'users:read',
  'webhooks:read',
] as const

/** Options of apps whose receivers are on this machine. */
export const LOCAL = { env: { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' } }

/** The same; receivers may hold their responses for as long as a test lasts. */
export const HOLDING = { env: { ...LOCAL.env, GATEHOOK_WEBHOOK_TIMEOUT_MS: '120000' } }

export const register = (
  { post }: Pick<Caller, 'post'>,
  { url }: Pick<Hook, 'url'>,
  more: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<Reply> => post('/webhooks', { url, events: ['*'], ...more }, headers)

/** Posts an external event, which changes no other row. */
export const pay = ({ post }: Pick<Caller, 'post'>, id: number): Promise<Reply> =>
  post('/events', { type: 'payment.succeeded', object: { id } })

/** Returns a registration once its replay has ended. */
// biome-ignore lint/suspicious/noExplicitAny: tests read any member of a response
export async function replayed({ get }: Pick<Caller, 'get'>, webhook: string): Promise<any> {
  for (;;) {
    const { body } = await get(`/webhooks/${webhook}`)
    if (body.replay?.state !== 'running') return body
    await breath()
  }
}

/** Returns the log of a registration once no delivery in it is pending. */
// biome-ignore lint/suspicious/noExplicitAny: tests read any member of a response
export async function finishedLog({ get }: Pick<Caller, 'get'>, webhook: string): Promise<any[]> {
  for (;;) {
    const { data } = (await get(`/webhooks/${webhook}/deliveries?limit=100`)).body
    if (data.every(({ state }: { state: string }) => state !== 'pending')) return data
    await breath()
  }
}
