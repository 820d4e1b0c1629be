/** Steps that complete every response: security headers, cache headers, `_warnings`. */
import type { After } from './call.ts'
import { joinVary } from './header.ts'

/** `Strict-Transport-Security` of every HTTPS response (§2.3, RFC 6797). */
export const STRICT_TRANSPORT = 'max-age=31536000; includeSubDomains'
/** That of a mounted app (§17.4): the subdomains belong to the application. */
export const MOUNTED_STRICT_TRANSPORT = 'max-age=31536000'

/**
 * A browser runs, loads and sends nothing, and no page can frame the response. Stored text that is
 * opened as a page has an origin of its own (`sandbox`, §17.5).
 */
const LOAD_NOTHING = [
  'sandbox',
  "default-src 'none'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * Returns the headers of every response (§10.3, §10.6), those of the parser included. A page
 * replaces the policy by its own.
 */
export const commonHeaders = (requestId: string): Record<string, string> => ({
  'x-request-id': requestId,
  'x-content-type-options': 'nosniff',
  'content-security-policy': LOAD_NOTHING,
})

export const addStrictTransport =
  (value: string): After =>
  (call) => {
    if (call.secure) call.out['strict-transport-security'] = value
  }

/**
 * Returns the headers of a sign-out: the browser clears the data of the host; the device cookie
 * remains (§3.8). The host of a mounted app has data of the application, which stay.
 */
export const signOutHeaders = (isMounted: boolean): Record<string, string> =>
  isMounted ? {} : { 'clear-site-data': '"cache", "storage"' }

const PRIVATE = 'private, no-cache'
const NO_STORE = 'no-store'
/** The headers that contain credentials; under `/admin` and `/portal`, a cookie may as well. */
const VARY = 'Authorization, X-API-Key'
const VARY_COOKIE = `${VARY}, Cookie`

/**
 * Makes responses to authenticated requests private, and forbids storing those with a secret
 * (§10.6, RFC 9111 §5.2.2). A `Cache-Control` of the response itself takes precedence.
 *
 * @param placeHeaders the headers that name the customer and the mode of a Basic credential (§4.8)
 */
export const addCacheHeaders =
  (placeHeaders: readonly string[]): After =>
  (call, answer) => {
    if (answer.secret) call.out['cache-control'] = NO_STORE
    if (call.operation?.authenticated === false) return
    // A response to a failed credential depends on that credential as well.
    if (call.principal === undefined && call.operation === undefined) return
    // Anonymous reads of a public resource are shared, but a credential changes the response.
    const isPublic = call.principal === undefined && call.operation?.authenticated === 'optional'
    if (!answer.secret && !isPublic) call.out['cache-control'] = PRIVATE
    const hasSession = call.kind === 'admin' || call.kind === 'portal'
    const vary = [hasSession ? VARY_COOKIE : VARY, ...placeHeaders].join(', ')
    call.out.vary = joinVary(call.out.vary, vary)
  }

/** Adds `_warnings` to a JSON object, except to errors (§3.3, §8.6). */
export const addWarnings: After = (call, answer) => {
  if (call.warnings.length === 0 || answer.status >= 400) return
  const { json } = answer
  if (json === undefined || !json.startsWith('{')) return
  const members = json === '{}' ? '{' : `${json.slice(0, -1)},`
  answer.json = `${members}"_warnings":${JSON.stringify(call.warnings)}}`
}
