/** Access tokens made: what they say, and for how long (§4.1). Sessions are `sessions.ts`. */
import { timeOrderedId } from '../kernel/id.ts'
import type { Random } from '../kernel/random.ts'
import { allowedClaims, signingInput, signToken } from './access-token.ts'
import type { Grant, Issued } from './grant.ts'
import type { Signer } from './signing-keys.ts'

/** Lives in milliseconds. */
export interface Lives {
  readonly accessMs: number
  /** While nobody refreshes. */
  readonly idleMs: number
  readonly absoluteMs: number
  /** `GATEHOOK_REFRESH_GRACE_S`. */
  readonly graceMs: number
}

export interface DraftDeps {
  readonly random: Random
  readonly lives: Lives
  readonly issuer: () => string
  readonly audience: () => string
}

/**
 * An access token that only lacks its signature: the transaction that finds out what it says fails
 * where it cannot be made, and is not kept open while it is signed.
 */
export interface Draft {
  readonly signer: Signer
  readonly input: string
  readonly told: Omit<Issued, 'access_token'>
  /** When it is no good any more. */
  readonly until: number
}

/** Drafts a token for a key (`KeyRing.signer`). Throws for claims that are too large. */
export type DraftToken = (
  signer: Signer,
  grant: Grant,
  now: number,
  session?: { readonly id: string; readonly endsAt: number },
) => Draft

export function drafting({ random, lives, issuer, audience }: DraftDeps): DraftToken {
  return (signer, grant, now, session) => {
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
    const told = { token_type: 'Bearer', expires_in: exp - iat, scope } as const
    return { signer, input: signingInput(claims, signer.header), told, until: exp * 1000 }
  }
}

export const issued = ({ signer, input, told }: Draft): Issued => ({
  access_token: signToken(input, signer.privateKey),
  ...told,
})
