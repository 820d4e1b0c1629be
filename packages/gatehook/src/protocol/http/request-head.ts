/**
 * Parses the head of a request before routing: path, query, version segment, host, request id. It
 * rejects malformed heads. Pure.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { withoutIssued } from '../../kernel/credential-shapes.ts'
import { Failure } from '../../kernel/failure.ts'
import { createShortId } from '../../kernel/id.ts'
import type { Random } from '../../kernel/random.ts'
import { isRepeated } from './header.ts'
import { Query } from './query.ts'
import { splitVersionSegment } from './version-segment.ts'

/** The part of Node's request that the server parses. */
interface RawRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly httpVersionMinor: number
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
}

export interface RequestHead {
  /** As sent; log it through `redactUrl` only. */
  readonly url: string
  /** As sent, without the query. */
  readonly path: string
  /** The path for the router, without the version segment. */
  readonly routedPath: string
  readonly segment: string | undefined
  readonly query: Query
  readonly host: string
  readonly id: string
  readonly startedMs: number
  /** Why the request is rejected, whatever its route. */
  readonly refusal: Failure | undefined
}

export interface HeadRules {
  readonly urlBytes: number
  readonly headerLines: number
  readonly roots: ReadonlySet<string>
  readonly random: Random
  /** Returns epoch milliseconds. */
  readonly now: () => number
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/
const SLASH = 47
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)(.*)$/i

/** Returns the caller's request id if it is valid (§10.3), otherwise a new one. */
export const requestIdOf = (sentId: unknown, random: Random, nowMs: number): string =>
  typeof sentId === 'string' && REQUEST_ID.test(sentId) && withoutIssued(sentId) === sentId
    ? sentId
    : createShortId('req_', nowMs, random)

/** Parses a head that arrived at `startedMs`. A malformed head has a `refusal`. */
export function parseRequestHead(
  request: RawRequest,
  startedMs: number,
  rules: HeadRules,
  url = request.url ?? '/',
): RequestHead {
  let target = url
  let host = request.headers.host
  if (target.charCodeAt(0) !== SLASH) {
    // RFC 9112 §3.2.2: a server accepts the absolute form, and its authority overrides Host.
    const absolute = ABSOLUTE_FORM.exec(target)
    if (absolute) {
      host = absolute[1]!
      target = absolute[2]!.startsWith('/') ? absolute[2]! : `/${absolute[2]}`
    }
  }
  const queryAt = target.indexOf('?')
  const path = queryAt < 0 ? target : target.slice(0, queryAt)
  let refusal = findRefusal(request, target, path, host, rules)
  let query = Query.empty
  if (queryAt >= 0 && !refusal) {
    try {
      query = Query.parse(target.slice(queryAt + 1))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      refusal = error
    }
  }
  const { path: routedPath, segment } = splitVersionSegment(path, rules.roots)
  return {
    url,
    path,
    // A path beyond the bound is neither routed nor decoded.
    routedPath: refusal?.code === 'uri_too_long' ? '*' : routedPath,
    segment,
    query,
    host: host ?? '',
    id: requestIdOf(request.headers['x-request-id'], rules.random, rules.now()),
    startedMs,
    refusal,
  }
}

function findRefusal(
  request: RawRequest,
  target: string,
  path: string,
  host: string | undefined,
  rules: HeadRules,
): Failure | undefined {
  if (target.length > rules.urlBytes) return new Failure('uri_too_long')
  if (request.rawHeaders.length > 2 * rules.headerLines) {
    const message = `The request has more than ${rules.headerLines} header lines.`
    return new Failure('headers_too_large', message)
  }
  if (target.includes('#')) {
    return new Failure('invalid_request', 'A request target has no fragment.')
  }
  if (path.includes('%00')) return new Failure('invalid_request', 'The path contains NUL.')
  if (path === '*' && request.method !== 'OPTIONS') {
    return new Failure('invalid_request', 'The target * is for OPTIONS only.')
  }
  // Node accepts `*api/orders`, and the router skips the first character.
  if (path.charCodeAt(0) !== SLASH && path !== '*') {
    return new Failure('invalid_request', 'The request target is not a path.')
  }
  if (host === undefined && request.httpVersionMinor > 0) {
    return new Failure('invalid_request', 'The Host header is missing.')
  }
  const { expect, 'transfer-encoding': coding, 'content-type': type } = request.headers
  // An intermediary of HTTP/1.0 may frame the body in another way (RFC 9112 §6.1).
  if (coding !== undefined && request.httpVersionMinor === 0) {
    return new Failure('invalid_request', 'HTTP/1.0 has no Transfer-Encoding.', {
      headers: { connection: 'close' },
    })
  }
  // Node accepts any list that ends in chunked, and decodes only that.
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') {
    return new Failure('invalid_request', 'The only supported transfer coding is chunked.')
  }
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    return new Failure('invalid_request', 'The only supported expectation is 100-continue.')
  }
  // Of a repeated header, node passes on the first line only.
  if (isRepeated(request.rawHeaders, 'host')) {
    return new Failure('invalid_request', 'The Host header is sent twice.')
  }
  if (type !== undefined && isRepeated(request.rawHeaders, 'content-type')) {
    return new Failure('invalid_request', 'The Content-Type header is sent twice.')
  }
  return undefined
}
