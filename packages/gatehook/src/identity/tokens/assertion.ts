/**
 * `Gatehook-Assertion` (§17.5): a JWT that tells an upstream who calls, which customer it acts for,
 * and which request it belongs to. Its keys sign nothing else.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Principal } from '../../kernel/principal.ts'
import type { Random } from '../../kernel/random.ts'
import type { IdTokenKey } from './id-token.ts'
import { signToken, toBase64url } from './jws.ts'

/** How long an upstream accepts it. */
const LIFETIME_S = 60
const JTI_BYTES = 16

/** The request as the upstream receives it. */
interface AssertedRequest {
  readonly principal: Principal
  /** The name of the upstream. */
  readonly audience: string
  readonly requestId: string
  readonly method: string
  /** With the query. */
  readonly path: string
}

export type SignAssertion = (request: AssertedRequest) => Promise<string>

/** The key that signs now. */
interface CurrentKey {
  readonly assertion: IdTokenKey & { readonly header: string }
}

interface SignerDeps {
  readonly keys: { findCurrentKey(): CurrentKey | Promise<CurrentKey> }
  readonly clock: Pick<Clock, 'now'>
  readonly random: Random
  readonly issuer: () => string
}

export const createAssertionSigner =
  ({ keys, clock, random, issuer }: SignerDeps): SignAssertion =>
  async ({ principal, audience, requestId, method, path }) => {
    const { header, privateKey } = (await keys.findCurrentKey()).assertion
    const iat = Math.floor(clock.now() / 1000)
    const claims = {
      iss: `${issuer()}/assertions`,
      aud: audience,
      iat,
      exp: iat + LIFETIME_S,
      jti: random.bytes(JTI_BYTES).toString('base64url'),
      sub: principal.subject,
      customer: principal.customer,
      external_id: principal.externalId ?? null,
      mode: principal.mode,
      scope: [...principal.scopes].join(' '),
      request_id: requestId,
      method,
      path,
    }
    return signToken(`${header}.${toBase64url(JSON.stringify(claims))}`, privateKey)
  }
