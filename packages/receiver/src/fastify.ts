/** The adapter for Fastify: a plugin with one route. It does not import Fastify. */
import { type NodeStream, readStream } from './body.ts'
import {
  createDeliveryHandler,
  DEFAULT_MAX_BODY_BYTES,
  type ReceiverOptions,
  refusal,
  TOO_LARGE,
} from './delivery.ts'
import type { HeadersLike } from './headers.ts'
import type { WebhookEvent } from './verify.ts'

interface Reply {
  code(status: number): Reply
  header(name: string, value: string): Reply
  send(body: unknown): unknown
}

/** The part of a Fastify instance that the plugin uses. */
export interface FastifyLike {
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(
    contentType: string,
    parser: (request: unknown, stream: NodeStream) => Promise<unknown>,
  ): unknown
  setErrorHandler(handler: (error: unknown, request: unknown, reply: Reply) => unknown): unknown
  post(
    path: string,
    handler: (request: { headers: HeadersLike; body: unknown }, reply: Reply) => unknown,
  ): unknown
}

/**
 * Returns a plugin that receives deliveries at `path`, with the responses of `receiver()`. Its body
 * parser, which retains the raw bytes, applies to this plugin only. Other methods are the 404 of
 * the app.
 *
 * @example
 * app.register(fastifyReceiver('/hooks', { secrets, onEvent }))
 * @throws {TypeError} A secret is missing, or contains white space or quotes.
 */
export function fastifyReceiver<Event = WebhookEvent>(
  path: string,
  options: ReceiverOptions<Event>,
): (app: FastifyLike) => Promise<void> {
  const deliver = createDeliveryHandler(options)
  const maxBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
  return async (app) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', async (_, stream) => {
      const body = await readStream(stream, maxBytes)
      if (!body) throw Object.assign(new Error('The body is too large.'), { statusCode: 413 })
      return body
    })
    app.setErrorHandler(async (error, _, reply) => {
      // Errors of Fastify while it reads the body; `deliver` handles errors of `onEvent`.
      const isTooLarge = (error as { statusCode?: unknown }).statusCode === 413
      if (!isTooLarge) await (options.onError ?? console.error)(error)
      const answer = isTooLarge ? TOO_LARGE : refusal(500, 'body_unreadable')
      // The rest of the body is unread, so the connection cannot be reused.
      if (isTooLarge) reply.header('connection', 'close')
      return reply.code(answer.status).send(answer.body)
    })
    app.post(path, async (request, reply) => {
      const body = request.body instanceof Uint8Array ? request.body : new Uint8Array()
      const answer = await deliver(request.headers, body)
      return reply.code(answer.status).send(answer.body)
    })
  }
}
