/**
 * Cross-origin calls (§10.5, Fetch standard). Preflights are answered before anything is judged,
 * and every other answer says who may read it, failures included. Pure.
 */

import type { After, Step } from './call.ts'
import { trimValue } from './header.ts'

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'
const ANY_HEADERS =
  'Authorization, Content-Type, Accept, X-API-Key, X-API-Version, API-Version, X-Request-Id, ' +
  'Idempotency-Key, If-Match, If-None-Match'
const EXPOSED =
  'Link, X-Total-Count, X-Page, X-Per-Page, X-Request-Id, X-API-Version, Deprecation, Sunset, ' +
  'RateLimit, RateLimit-Policy, Retry-After, ETag, Location, Idempotent-Replayed'
const MAX_AGE_S = 7200

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/
const areHeaderNames = (list: string): boolean =>
  list.split(',').every((name) => HEADER_NAME.test(trimValue(name)))

export interface Cors {
  /** Answers preflights with 204, whatever path and method; lets everything else go on. */
  readonly preflight: Step
  /** The headers that let the caller's page read the answer. */
  readonly headers: After
  /** Whether pages of an origin may send credentials: never because of `*`. */
  readonly allowsCredentials: (origin: string) => boolean
}

/** `origins`: as `GATEHOOK_CORS_ORIGINS` has it, comma-separated, or `*`, or undefined for none. */
export function createCors(origins: string | undefined): Cors {
  const listed = new Set(
    (origins ?? '')
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  )
  const any = listed.has('*')

  /** `Access-Control-Allow-Origin` and what goes with it; false where the origin is not let in. */
  const admit = (origin: string | undefined, headers: Record<string, string>): boolean => {
    if (any) {
      // Never credentials with `*`: any page could then read as the person whose browser it is.
      if (origin !== undefined) headers['access-control-allow-origin'] = '*'
      return origin !== undefined
    }
    if (listed.size === 0) return false
    headers.vary = headers.vary ? `${headers.vary}, Origin` : 'Origin'
    if (origin === undefined || !listed.has(origin)) return false
    headers['access-control-allow-origin'] = origin
    headers['access-control-allow-credentials'] = 'true'
    return true
  }

  return {
    allowsCredentials: (origin) => !any && listed.has(origin),
    preflight(call) {
      const { origin } = call.headers
      const wanted = call.headers['access-control-request-method']
      if (call.method !== 'OPTIONS' || origin === undefined || wanted === undefined) return
      const headers: Record<string, string> = { allow: call.allow || METHODS }
      if (any || listed.has(origin)) {
        const asked = call.headers['access-control-request-headers']
        headers['access-control-allow-methods'] = call.allow || METHODS
        headers['access-control-allow-headers'] =
          asked !== undefined && areHeaderNames(asked) ? asked : ANY_HEADERS
        headers['access-control-max-age'] = String(MAX_AGE_S)
      }
      return { status: 204, headers }
    },
    headers(call) {
      if (admit(call.headers.origin, call.out)) {
        call.out['access-control-expose-headers'] = EXPOSED
      }
    },
  }
}
