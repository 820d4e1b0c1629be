/** `gatehook-client/test`: a verifier for tests of an application, without a service. */
import { createMiddleware } from './middleware.ts'
import type { ActiveCredential, Verify } from './verification.ts'
import type { Verifier } from './verifier.ts'

const DEFAULTS: ActiveCredential = {
  active: true,
  kind: 'key',
  id: 'key_test',
  client_id: null,
  first_party: true,
  name: null,
  customer: 'cus_test',
  external_id: null,
  mode: 'live',
  scopes: [],
  api_version: null,
  expires_at: null,
  limit: null,
}

/**
 * Creates a verifier of these credentials; any other is unknown. It checks scopes, and counts no
 * cost.
 *
 * @example
 * const of42 = { external_id: 'org_42', scopes: ['reports:read'] }
 * const verifier = fakeVerifier({ 'key-of-42': of42 })
 */
export function fakeVerifier(
  credentials: Readonly<Record<string, Partial<ActiveCredential>>>,
): Verifier {
  const verify: Verify = async ({ credential, scopes = [] }) => {
    const refusal = { active: false, status: 403, headers: {} } as const
    if (!Object.hasOwn(credentials, credential)) return { ...refusal, reason: 'unknown' }
    const answer = { ...DEFAULTS, ...credentials[credential] }
    const missing_scopes = scopes.filter((scope) => !answer.scopes.includes(scope))
    if (missing_scopes.length === 0) return answer
    return { ...refusal, reason: 'scope', missing_scopes }
  }
  return { verify, ...createMiddleware(verify) }
}
