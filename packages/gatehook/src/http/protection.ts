/**
 * What browsers and caches on the way may do with a response: HSTS on every HTTPS response (§2.3,
 * RFC 6797), and who may store one (§10.6, RFC 9111).
 */
import type { After } from './call.ts'

export const STRICT_TRANSPORT = 'max-age=31536000; includeSubDomains'

/** `X-Content-Type-Options` of every response: its type is what `Content-Type` names (§10.6). */
export const NO_SNIFF = 'nosniff'

/**
 * `Content-Security-Policy` of a response that names none: whatever a browser takes it for, it
 * runs and loads nothing, and no page can frame it. Pages have a policy of their own.
 */
export const NOTHING_LOADED = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"

export const strictTransport: After = (call) => {
  if (call.secure) call.out['strict-transport-security'] = STRICT_TRANSPORT
}

const PRIVATE = 'private, no-cache'
const NO_STORE = 'no-store'
/** The headers a credential may come in; under `/admin` a cookie too. */
const VARY = 'Authorization, X-API-Key'
const VARY_COOKIE = `${VARY}, Cookie`

/**
 * Responses to authenticated requests are for that caller alone, and those that hold a secret are
 * not stored. A response that names its own `Cache-Control` keeps it.
 */
export const privateResponse: After = (call, answer) => {
  if (answer.secret) call.out['cache-control'] = NO_STORE
  if (call.operation?.authenticated === false) return
  // Also where the credential failed: the response depends on it all the same.
  if (call.principal === undefined && call.operation === undefined) return
  // An anonymous read of a public resource is for everyone, but a credential changes it.
  const isPublic = call.principal === undefined && call.operation?.authenticated === 'optional'
  if (!answer.secret && !isPublic) call.out['cache-control'] = PRIVATE
  const vary = call.kind === 'admin' ? VARY_COOKIE : VARY
  call.out.vary = call.out.vary ? `${call.out.vary}, ${vary}` : vary
}
