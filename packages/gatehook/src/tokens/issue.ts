/** Access tokens made: what they say, and for how long (§4.1). Sessions are `sessions.ts`. */
import { timeOrderedId } from '../kernel/id.ts'
import type { Random } from '../kernel/random.ts'
import { allowedClaims, signToken } from './access-token.ts'
import type { Grant, Issued } from './grant.ts'
import type { KeyRing } from './signing-keys.ts'

/** Lives in milliseconds. */
export interface Lives {
  readonly accessMs: number
  /** While nobody refreshes. */
  readonly idleMs: number
  readonly absoluteMs: number
  /** `GATEHOOK_REFRESH_GRACE_S`. */
  readonly graceMs: number
}

export interface IssueDeps {
  readonly random: Random
  readonly keys: Pick<KeyRing, 'signer'>
  readonly lives: Lives
  readonly issuer: () => string
  readonly audience: () => string
}

/** Makes an access token; `until`: when it is no good any more. */
export type Issue = (
  grant: Grant,
  now: number,
  session?: { readonly id: string; readonly endsAt: number },
) => Promise<{ readonly issued: Issued; readonly until: number }>

export function issuing({ random, keys, lives, issuer, audience }: IssueDeps): Issue {
  return async (grant, now, session) => {
    const { header, privateKey } = await keys.signer()
    const iat = Math.floor(now / 1000)
    // No access token outlives its session.
    const longest = iat + lives.accessMs / 1000
    const exp = session ? Math.min(longest, Math.ceil(session.endsAt / 1000)) : longest
    const scope = grant.scopes.join(' ')
    const claims = {
      iss: issuer(),
      sub: grant.subject,
      aud: audience(),
      exp,
      iat,
      jti: timeOrderedId('tok_', now, random),
      client_id: grant.clientId,
      scope,
      ...(session && { sid: session.id }),
      customer: grant.customer,
      mode: grant.mode,
      ...allowedClaims(grant.claims),
    }
    const access_token = signToken(claims, header, privateKey)
    const issued: Issued = { access_token, token_type: 'Bearer', expires_in: exp - iat, scope }
    return { issued, until: exp * 1000 }
  }
}
