/**
 * The package's face, and the adapter for everything that speaks Fetch (Deno, Bun, Workers, Hono,
 * Next.js, SvelteKit). node:http, Express and Fastify have an entry of their own.
 */
import {
  DEFAULT_MAX_BODY_BYTES,
  type DeliveryAnswer,
  deliveries,
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
 * A handler of deliveries in the shape of Fetch. It answers 200 `{received: true}` for an event
 * that was handled, or dropped as a duplicate or stale; 400 `{error}` for one that cannot be
 * believed; 413 over `maxBodyBytes`; 405 for other methods than POST; 500 when `onEvent` threw. It
 * never rejects.
 *
 * Pass the request untouched: once something has read its body, the signed bytes are gone.
 *
 * @throws TypeError at once when `secrets` is empty.
 */
export function receiver<Event = WebhookEvent>(
  options: ReceiverOptions<Event>,
): (request: Request) => Promise<Response> {
  const deliver = deliveries(options)
  const maxBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
  return async (request) => {
    if (request.method !== 'POST') return respond(WRONG_METHOD)
    let body: Uint8Array | undefined
    try {
      body = await readBody(request, maxBytes)
    } catch (error) {
      // The sender went away in the middle, or the body was read before: either way it is not here.
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

/** Undefined when the body is longer than the bound; the rest is then left unread. */
async function readBody(request: Request, maxBytes: number): Promise<Uint8Array | undefined> {
  if (request.bodyUsed) throw new TypeError('The body was read before the receiver saw it.')
  if (!request.body) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = request.body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return joined(chunks, length)
    length += value.byteLength
    if (length > maxBytes) {
      await reader.cancel()
      return undefined
    }
    chunks.push(value)
  }
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
