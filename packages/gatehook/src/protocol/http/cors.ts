/**
 * Cross-origin requests (§10.5, Fetch standard). Preflights are answered before any other check,
 * and every response, failures included, states which origins may read it. Pure.
 */
import type { After, Step } from './call.ts'
import { patchTypes } from './content-negotiation.ts'
import { joinVary, trimValue } from './header.ts'
import { RESPONSE_HEADERS } from './response-headers.ts'

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'
const ALLOWED_HEADERS =
  'Authorization, Content-Type, Accept, X-API-Key, X-API-Version, API-Version, X-Request-Id, ' +
  'Idempotency-Key, If-Match, If-None-Match, Prefer, Gatehook-Read-After, Gatehook-Customer, ' +
  'Gatehook-Mode'
const EXPOSED_HEADERS = RESPONSE_HEADERS.join(', ')
const MAX_AGE_S = 7200

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/
const areHeaderNames = (list: string): boolean =>
  list.split(',').every((name) => HEADER_NAME.test(trimValue(name)))

interface Cors {
  /** Answers preflights with 204, for every path and method. */
  readonly preflight: Step
  /** Adds the headers that let a page of an allowed origin read the response. */
  readonly addHeaders: After
  /** Returns whether pages of an origin may send credentials; never because of `*`. */
  readonly allowsCredentials: (origin: string) => boolean
}

/** `origins`: the value of `GATEHOOK_CORS_ORIGINS`, comma-separated or `*`; undefined for none. */
export function createCors(origins: string | undefined): Cors {
  const allowedOrigins = new Set(
    (origins ?? '')
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  )
  const allowsAny = allowedOrigins.has('*')

  /** Adds `Access-Control-Allow-Origin`; returns false if the origin is not allowed. */
  const allowOrigin = (origin: string | undefined, headers: Record<string, string>): boolean => {
    if (allowsAny) {
      // Without credentials: with them, any page could read with the credentials of the browser.
      if (origin !== undefined) headers['access-control-allow-origin'] = '*'
      return origin !== undefined
    }
    if (allowedOrigins.size === 0) return false
    headers.vary = joinVary(headers.vary, 'Origin')
    if (origin === undefined || !allowedOrigins.has(origin)) return false
    headers['access-control-allow-origin'] = origin
    headers['access-control-allow-credentials'] = 'true'
    return true
  }

  return {
    allowsCredentials: (origin) => !allowsAny && allowedOrigins.has(origin),
    preflight(call) {
      const { origin } = call.headers
      const requestedMethod = call.headers['access-control-request-method']
      if (call.method !== 'OPTIONS' || origin === undefined || requestedMethod === undefined) return
      const headers: Record<string, string> = { allow: call.allow || METHODS, ...patchTypes(call) }
      if (allowsAny || allowedOrigins.has(origin)) {
        const requestedHeaders = call.headers['access-control-request-headers']
        headers['access-control-allow-methods'] = call.allow || METHODS
        headers['access-control-allow-headers'] =
          requestedHeaders !== undefined && areHeaderNames(requestedHeaders)
            ? requestedHeaders
            : ALLOWED_HEADERS
        headers['access-control-max-age'] = String(MAX_AGE_S)
      }
      return { status: 204, headers }
    },
    addHeaders(call) {
      if (allowOrigin(call.headers.origin, call.out)) {
        call.out['access-control-expose-headers'] = EXPOSED_HEADERS
      }
    },
  }
}
