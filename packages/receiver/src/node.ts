/**
 * The adapters for node:http and Express, by the shape of their objects: nothing of Node is
 * imported.
 *
 * The signature is over the bytes as sent, so the listener reads the stream itself. Put it before
 * (or beside, on its own route) any body parser; after `express.raw()` it takes the Buffer that
 * made. After `express.json()` the bytes are gone, and that is an error of the program, not of the
 * sender.
 */
import {
  DEFAULT_MAX_BODY_BYTES,
  type DeliveryAnswer,
  deliveries,
  type ReceiverOptions,
  refusal,
  TOO_LARGE,
  WRONG_METHOD,
} from './delivery.ts'
import type { HeadersLike } from './headers.ts'
import type { WebhookEvent } from './verify.ts'

/** What is used of an `http.IncomingMessage`, or of Express's request. */
export interface NodeRequest {
  readonly method?: string | undefined
  readonly headers: HeadersLike
  /** What a parser before this one has left. */
  readonly body?: unknown
  readonly readableDidRead: boolean
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown
  on(event: 'end' | 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  pause(): unknown
}

/** What is used of an `http.ServerResponse`, or of Express's response. */
export interface NodeResponse {
  statusCode: number
  setHeader(name: string, value: string): unknown
  end(body: string): unknown
}

/**
 * A listener for `http.createServer(…)`, and a handler for `app.post('/hooks', …)` of Express. It
 * answers as `receiver()` does and never rejects.
 *
 * @throws TypeError at once when `secrets` is empty.
 */
export function nodeReceiver<Event = WebhookEvent>(
  options: ReceiverOptions<Event>,
): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  const deliver = deliveries(options)
  const maxBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
  return async (request, response) => {
    if (request.method !== 'POST') return respond(response, WRONG_METHOD)
    let body: Uint8Array | string | undefined
    try {
      body = await bodyOf(request, maxBytes)
    } catch (error) {
      await (options.onError ?? console.error)(error)
      return respond(response, refusal(500, 'body_unreadable'))
    }
    respond(response, body === undefined ? TOO_LARGE : await deliver(request.headers, body))
  }
}

function respond(response: NodeResponse, answer: DeliveryAnswer): void {
  response.statusCode = answer.status
  response.setHeader('content-type', 'application/json')
  if (answer.status === 405) response.setHeader('allow', 'POST')
  // The rest of a body too long stays unread, so this connection can carry no further request.
  if (answer.status === 413) response.setHeader('connection', 'close')
  response.end(JSON.stringify(answer.body))
}

async function bodyOf(
  request: NodeRequest,
  maxBytes: number,
): Promise<Uint8Array | string | undefined> {
  const { body } = request
  if (body instanceof Uint8Array || typeof body === 'string') {
    return body.length > maxBytes ? undefined : body
  }
  if (request.readableDidRead) {
    throw new TypeError(
      'A body parser read this request first. Mount the receiver before it, or use express.raw().',
    )
  }
  return await read(request, maxBytes)
}

/** Undefined when the body is longer than the bound. */
function read(request: NodeRequest, maxBytes: number): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let length = 0
    request.on('data', (chunk) => {
      length += chunk.length
      if (length <= maxBytes) return void chunks.push(chunk)
      request.pause() // not destroyed: the answer goes out on the same socket
      resolve(undefined)
    })
    request.on('end', () => {
      const bytes = new Uint8Array(length)
      let at = 0
      for (const chunk of chunks) {
        bytes.set(chunk, at)
        at += chunk.length
      }
      resolve(bytes)
    })
    request.on('error', reject)
    request.on('close', () => reject(new Error('The sender went away before the body was whole.')))
  })
}
