/** Steps that complete every response: security headers, cache headers, `_warnings`. */
import type { After } from './call.ts'

/** `Strict-Transport-Security` of every HTTPS response (§2.3, RFC 6797). */
export const STRICT_TRANSPORT = 'max-age=31536000; includeSubDomains'

/** `X-Content-Type-Options` of every response: `Content-Type` states its type (§10.6). */
export const NO_SNIFF = 'nosniff'

/**
 * `Content-Security-Policy` of a response without a policy of its own: a browser runs and loads
 * nothing, and no page can frame the response.
 */
export const LOAD_NOTHING = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"

export const addStrictTransport: After = (call) => {
  if (call.secure) call.out['strict-transport-security'] = STRICT_TRANSPORT
}

const PRIVATE = 'private, no-cache'
const NO_STORE = 'no-store'
/** The headers that contain credentials; under `/admin`, a cookie may as well. */
const VARY = 'Authorization, X-API-Key'
const VARY_COOKIE = `${VARY}, Cookie`

/**
 * Makes responses to authenticated requests private, and forbids storing those with a secret
 * (§10.6, RFC 9111 §5.2.2). A `Cache-Control` of the response itself takes precedence.
 */
export const addCacheHeaders: After = (call, answer) => {
  if (answer.secret) call.out['cache-control'] = NO_STORE
  if (call.operation?.authenticated === false) return
  // A response to a failed credential depends on that credential as well.
  if (call.principal === undefined && call.operation === undefined) return
  // Anonymous reads of a public resource are shared, but a credential changes the response.
  const isPublic = call.principal === undefined && call.operation?.authenticated === 'optional'
  if (!answer.secret && !isPublic) call.out['cache-control'] = PRIVATE
  const vary = call.kind === 'admin' ? VARY_COOKIE : VARY
  call.out.vary = call.out.vary ? `${call.out.vary}, ${vary}` : vary
}

/** Adds `_warnings` to a JSON object, except to errors (§3.3, §8.6). */
export const addWarnings: After = (call, answer) => {
  if (call.warnings.length === 0 || answer.status >= 400) return
  const { json } = answer
  if (json === undefined || !json.startsWith('{')) return
  const members = json === '{}' ? '{' : `${json.slice(0, -1)},`
  answer.json = `${members}"_warnings":${JSON.stringify(call.warnings)}}`
}
