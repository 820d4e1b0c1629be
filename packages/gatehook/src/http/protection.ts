/** Headers that protect the caller: HSTS (§2.3) and no caching of what a key in the URL fetched (§3.3). */
import type { After } from './call.ts'

export const STRICT_TRANSPORT = 'max-age=31536000; includeSubDomains'

/** HSTS on every HTTPS response (RFC 6797). */
export const strictTransport: After = (call) => {
  if (call.secure) call.out['strict-transport-security'] = STRICT_TRANSPORT
}

/**
 * An answer to `?api_key=` is kept by no cache: the URL is the cache's key, and whoever has the URL would
 * get the answer. Overrides what the handler says of caching.
 */
export const keepFromCaches: After = (call, answer) => {
  if (!call.query.has('api_key')) return
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(answer.headers ?? {})) {
    if (name.toLowerCase() !== 'cache-control') headers[name] = value
  }
  headers['cache-control'] = 'private, no-store'
  answer.headers = headers
}
