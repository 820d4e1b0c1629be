/**
 * The adapter for node:http and Express. It imports nothing of Node.
 *
 * The signature covers the bytes as sent, so the listener reads the stream itself. Mount it before
 * any body parser, or after `express.raw()`, whose Buffer it uses. After `express.json()`, the
 * bytes are lost, which is an error of the program.
 */
import { type NodeStream, readStream } from './body.ts'
import {
  createDeliveryHandler,
  DEFAULT_MAX_BODY_BYTES,
  type DeliveryAnswer,
  type ReceiverOptions,
  refusal,
  TOO_LARGE,
  WRONG_METHOD,
} from './delivery.ts'
import type { HeadersLike } from './headers.ts'
import type { WebhookEvent } from './verify.ts'

/** The part of an `http.IncomingMessage`, or of Express's request, that the adapter uses. */
export interface NodeRequest extends NodeStream {
  readonly method?: string | undefined
  readonly headers: HeadersLike
  /** The result of a parser that ran before. */
  readonly body?: unknown
  readonly readableDidRead: boolean
  readonly readableEnded: boolean
}

/** The part of an `http.ServerResponse`, or of Express's response, that the adapter uses. */
export interface NodeResponse {
  statusCode: number
  setHeader(name: string, value: string): unknown
  end(body: string): unknown
}

/**
 * Returns a listener for `http.createServer` or a handler for Express, with the responses of
 * `receiver()`. It never rejects.
 *
 * @example
 * app.post('/hooks', nodeReceiver({ secrets, onEvent }))
 * @throws {TypeError} A secret is missing, or contains white space or quotes.
 */
export function nodeReceiver<Event = WebhookEvent>(
  options: ReceiverOptions<Event>,
): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  const deliver = createDeliveryHandler(options)
  const maxBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
  return async (request, response) => {
    if (request.method !== 'POST') return respond(response, WRONG_METHOD)
    let body: Uint8Array | string | undefined
    try {
      body = await findBody(request, maxBytes)
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
  // The rest of the body is unread, so the connection cannot be reused.
  if (answer.status === 413) response.setHeader('connection', 'close')
  response.end(JSON.stringify(answer.body))
}

async function findBody(
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
  // `optimizeEmptyRequests` of `http.createServer`: no `end` follows.
  if (request.readableEnded) return new Uint8Array()
  return await readStream(request, maxBytes)
}
