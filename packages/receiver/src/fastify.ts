/** The adapter for Fastify: a plugin with a route of its own. Nothing of Fastify is imported. */
import {
  DEFAULT_MAX_BODY_BYTES,
  deliveries,
  type ReceiverOptions,
  refusal,
  TOO_LARGE,
} from './delivery.ts'
import type { HeadersLike } from './headers.ts'
import type { WebhookEvent } from './verify.ts'

interface Reply {
  code(status: number): Reply
  send(body: unknown): unknown
}

/** What is used of a Fastify instance. */
export interface FastifyLike {
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(
    contentType: string,
    options: { parseAs: 'buffer'; bodyLimit: number },
    parser: (request: unknown, body: Uint8Array) => Promise<unknown>,
  ): unknown
  setErrorHandler(handler: (error: unknown, request: unknown, reply: Reply) => unknown): unknown
  post(
    path: string,
    handler: (request: { headers: HeadersLike; body: unknown }, reply: Reply) => unknown,
  ): unknown
}

/**
 * A plugin that receives deliveries at `path`: `app.register(fastifyReceiver('/hooks', {…}))`. Its
 * body parser keeps the raw bytes and lives inside the plugin only; the rest of the app parses JSON
 * as before. It answers as `receiver()` does; other methods are the app's 404.
 *
 * @throws TypeError at once when `secrets` is empty.
 */
export function fastifyReceiver<Event = WebhookEvent>(
  path: string,
  options: ReceiverOptions<Event>,
): (app: FastifyLike) => Promise<void> {
  const deliver = deliveries(options)
  const bodyLimit = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
  return async (app) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, async (_, body) => body)
    app.setErrorHandler(async (error, _, reply) => {
      // Fastify's own refusals while it reads the body; what onEvent throws is answered in
      // `deliver`.
      const tooLarge = (error as { statusCode?: unknown }).statusCode === 413
      if (!tooLarge) await (options.onError ?? console.error)(error)
      const answer = tooLarge ? TOO_LARGE : refusal(500, 'body_unreadable')
      return reply.code(answer.status).send(answer.body)
    })
    app.post(path, async (request, reply) => {
      const body = request.body instanceof Uint8Array ? request.body : new Uint8Array()
      const answer = await deliver(request.headers, body)
      return reply.code(answer.status).send(answer.body)
    })
  }
}
