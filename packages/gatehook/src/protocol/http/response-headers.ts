/**
 * The response headers of this API that clients read (docs/reference/http.md). CORS exposes them
 * all (§10.5, §16.1), and the OpenAPI documents describe them.
 */
export const RESPONSE_HEADERS = [
  'X-Request-Id',
  'X-API-Version',
  'Deprecation',
  'Sunset',
  'ETag',
  'Link',
  'Location',
  'X-Total-Count',
  'X-Page',
  'X-Per-Page',
  'RateLimit-Policy',
  'RateLimit',
  'Retry-After',
  'Gatehook-Read-After',
  'Idempotent-Replayed',
  'Preference-Applied',
  'Allow',
  'Accept',
  'Accept-Encoding',
  'Accept-Patch',
  'WWW-Authenticate',
  'Cache-Control',
  'X-Content-Type-Options',
  'Content-Security-Policy',
  'Strict-Transport-Security',
] as const

export type ResponseHeader = (typeof RESPONSE_HEADERS)[number]
