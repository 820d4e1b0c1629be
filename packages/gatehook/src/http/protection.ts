/** HSTS on every HTTPS response (§2.3, RFC 6797). */
import type { After } from './call.ts'

export const STRICT_TRANSPORT = 'max-age=31536000; includeSubDomains'

export const strictTransport: After = (call) => {
  if (call.secure) call.out['strict-transport-security'] = STRICT_TRANSPORT
}
