/**
 * The exports of the package, and the adapter for runtimes with the Fetch API (Deno, Bun, Workers,
 * Hono, Next.js, SvelteKit). `node.ts` and `fastify.ts` are entries of their own.
 */
import { collectBody } from './body.ts'
import {
  createDeliveryHandler,
  DEFAULT_MAX_BODY_BYTES,
  type DeliveryAnswer,
  type ReceiverOptions,
  TOO_LARGE,
  WRONG_METHOD,
} from './delivery.ts'
import type { WebhookEvent } from './verify.ts'

export type { DeliveryContext, ReceiverOptions } from './delivery.ts'
export type { HeadersLike } from './headers.ts'
export { type SignOptions, sign } from './sign.ts'
export type { Bytes, Scheme } from './signature.ts'
export { type EventStore, memoryStore } from './store.ts'
export {
  type Instant,
  type VerificationErrorCode,
  type VerifiedWebhook,
  type VerifyOptions,
  verify,
  type WebhookEvent,
  WebhookVerificationError,
} from './verify.ts'

/**
 * Returns a handler of deliveries for the Fetch API. It never rejects. Its responses:
 *
 * - 200 `{received: true}`: the event was handled, or dropped as a duplicate (stale: `dropStale`).
 * - 400 `{error}`: the delivery is not authentic (see {@link VerificationErrorCode}).
 * - 405: the method is not POST. 413: the body exceeds `maxBodyBytes`, or has very many chunks.
 * - 500: `onEvent` or the store threw; the sender retries.
 *
 * The body of the request must not have been read.
 *
 * @example
 * export const POST = receiver({ secrets: [secret], onEvent: async (event) => save(event) })
 * @throws {TypeError} A secret is missing, or contains white space or quotes.
 */
export function receiver<Event = WebhookEvent>(
  options: ReceiverOptions<Event>,
): (request: Request) => Promise<Response> {
  const deliver = createDeliveryHandler(options)
  const maxBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
  return async (request) => {
    if (request.method !== 'POST') return respond(WRONG_METHOD)
    let body: Uint8Array | undefined
    try {
      body = await readBody(request, maxBytes)
    } catch (error) {
      // The connection ended, or the body was read before.
      await (options.onError ?? console.error)(error)
      return respond({ status: 500, body: { error: 'body_unreadable' } })
    }
    return respond(body ? await deliver(request.headers, body) : TOO_LARGE)
  }
}

function respond(answer: DeliveryAnswer): Response {
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (answer.status === 405) headers.allow = 'POST'
  return new Response(JSON.stringify(answer.body), { status: answer.status, headers })
}

/** Reads the body; undefined if it is too large. */
async function readBody(request: Request, maxBytes: number): Promise<Uint8Array | undefined> {
  if (request.bodyUsed) throw new TypeError('The body was read before the receiver ran.')
  if (!request.body) return new Uint8Array()
  const body = collectBody(maxBytes)
  const reader = request.body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return body.read()
    if (!body.add(value)) {
      await reader.cancel()
      return undefined
    }
  }
}
