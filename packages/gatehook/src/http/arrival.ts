/**
 * What the head of a request says before any route is known: path, query, version segment, host,
 * request id, and whether it is well formed at all. Pure.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { randomBase62 } from '../kernel/base62.ts'
import { Failure } from '../kernel/failure.ts'
import type { Random } from '../kernel/random.ts'
import { headerLines } from './header.ts'
import { Query } from './query.ts'
import { split } from './version-segment.ts'

/** What is read of node's request. */
export interface Head {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly httpVersionMinor: number
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
}

export interface Arrival {
  /** As sent; for the log, through `redactUrl` only. */
  readonly url: string
  /** As sent, without the query. */
  readonly path: string
  /** What the router is given: without the version segment and the query. */
  readonly routed: string
  readonly segment: string | undefined
  readonly query: Query
  readonly host: string
  readonly id: string
  readonly startedMs: number
  /** Why this request goes no further, whatever its route. */
  readonly refusal: Failure | undefined
}

export interface ArrivalRules {
  readonly urlBytes: number
  readonly roots: ReadonlySet<string>
  readonly random: Random
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/
const ID_LENGTH = 16

/** The caller's own id when it is one (§10.3), else a fresh one. */
export const requestId = (sent: unknown, random: Random): string =>
  typeof sent === 'string' && REQUEST_ID.test(sent)
    ? sent
    : `req_${randomBase62(random, ID_LENGTH)}`

const SLASH = 47

const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/i

export function readArrival(head: Head, startedMs: number, rules: ArrivalRules): Arrival {
  const url = head.url ?? '/'
  let target = url
  let host = head.headers.host
  if (target.charCodeAt(0) !== SLASH) {
    // RFC 9112 §3.2.2: the absolute form is served too, and its authority overrides Host.
    const absolute = ABSOLUTE.exec(target)
    if (absolute) {
      host = absolute[1]!
      target = absolute[2]!.startsWith('/') ? absolute[2]! : `/${absolute[2]}`
    }
  }
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  let refusal = judge(head, target, path, host, rules)
  let query = Query.empty
  if (mark >= 0 && !refusal) {
    try {
      query = Query.parse(target.slice(mark + 1))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      refusal = error
    }
  }
  const { path: routed, segment } = split(path, rules.roots)
  return {
    url,
    path,
    // A target that is no path must not meet a route by accident, nor be decoded in full length.
    routed: refusal?.code === 'uri_too_long' ? '*' : routed,
    segment,
    query,
    host: host ?? '',
    id: requestId(head.headers['x-request-id'], rules.random),
    startedMs,
    refusal,
  }
}

function judge(
  head: Head,
  target: string,
  path: string,
  host: string | undefined,
  rules: ArrivalRules,
): Failure | undefined {
  if (target.length > rules.urlBytes) return new Failure('uri_too_long')
  if (target.includes('#')) {
    return new Failure('invalid_request', 'A request target has no fragment.')
  }
  if (path.includes('%00')) return new Failure('invalid_request', 'The path contains NUL.')
  if (path === '*' && head.method !== 'OPTIONS') {
    return new Failure('invalid_request', 'The target * is for OPTIONS only.')
  }
  // Node takes `*api/orders`, and the router never looks at the first character.
  if (path.charCodeAt(0) !== SLASH && path !== '*') {
    return new Failure('invalid_request', 'The request target is no path.')
  }
  if (host === undefined && head.httpVersionMinor > 0) {
    return new Failure('invalid_request', 'The Host header is missing.')
  }
  const { expect, 'transfer-encoding': coding } = head.headers
  // Node takes any list that ends in chunked, and undoes only that.
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') {
    return new Failure('invalid_request', 'The only transfer coding understood is chunked.')
  }
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    return new Failure('invalid_request', 'This expectation cannot be met. Only 100-continue is.')
  }
  // Of a repeated header, node passes on the first line only.
  if (headerLines(head.rawHeaders, 'host').length > 1) {
    return new Failure('invalid_request', 'The Host header is sent twice.')
  }
  if (headerLines(head.rawHeaders, 'content-type').length > 1) {
    return new Failure('invalid_request', 'The Content-Type header is sent twice.')
  }
  return undefined
}
