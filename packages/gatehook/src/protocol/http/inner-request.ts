/**
 * A request that a handler sends to another path, with the caller of its own request: a tool of an
 * agent (§16.11). It passes the pipeline without the steps that the outer request has passed, and
 * has its own line in the request log. Its response is read up to a bound.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Failure } from '../../kernel/failure.ts'
import type { Call } from './call.ts'
import type { Exchange } from './exchange.ts'

export interface InnerRequest {
  readonly method: string
  /** The path with its query, encoded. */
  readonly url: string
  /** The template that must match, `/api/orders/:id`; another match is 404. */
  readonly route: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Bytes of the response that are read at most. */
  readonly maxBytes: number
}

export interface InnerAnswer {
  readonly status: number
  readonly bytes: Buffer
  readonly contentType: string | undefined
  /** Whether the response is longer than `maxBytes`. */
  readonly isCut: boolean
  /** The scope that the caller lacks, if the failure is `insufficient_scope`. */
  readonly missingScope: string | undefined
}

export type SendInner = (outer: Call, request: InnerRequest) => Promise<InnerAnswer>

/** Serves a request without a socket inside another one. */
export type InnerListener = (
  outer: Exchange,
  route: string,
  request: IncomingMessage,
  response: ServerResponse,
) => Exchange

/** Creates the sender. Throws `uri_too_long` for a URL that the server refuses as well. */
export const createInnerSender =
  (listen: InnerListener, urlBytes: number): SendInner =>
  async (outer, { route, body, maxBytes, ...request }) => {
    if (request.url.length > urlBytes) throw new Failure('uri_too_long')
    const { inject } = await import('light-my-request')
    let exchange: Exchange | undefined
    const reply = await inject(
      (incoming, response) => {
        exchange = listen(outer as Exchange, route, incoming, response as ServerResponse)
      },
      {
        ...(request as object),
        ...(body !== undefined && { payload: body }),
        payloadAsStream: true,
      },
    )
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of reply.stream()) {
      size += chunk.length
      if (size > maxBytes) break
      chunks.push(chunk)
    }
    const isCut = size > maxBytes
    if (isCut) reply.raw.res.destroy()
    const { missingScope } = exchange!
    const contentType = reply.headers['content-type']?.toString()
    const bytes = Buffer.concat(chunks)
    return { status: reply.statusCode, bytes, contentType, isCut, missingScope }
  }
