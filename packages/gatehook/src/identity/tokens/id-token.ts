/**
 * ID tokens (§16.10, OpenID Connect Core §2) tell a client about the sign-in of a person. Pure.
 * Their `typ` differs from that of access tokens, so no path accepts them as such.
 */
import { createHash, type KeyObject, sign, verify } from 'node:crypto'
import { decodeObject, encodeHeader, signToken, toBase64url } from './jws.ts'

/** The algorithms that a client can choose; the first is the default. */
export const ID_TOKEN_ALGORITHMS = ['RS256', 'ES256'] as const
export type IdTokenAlgorithm = (typeof ID_TOKEN_ALGORITHMS)[number]

const TYPE = 'JWT'

export interface IdTokenKey {
  readonly kid: string
  readonly privateKey: KeyObject
}

/** The members of a person that the scopes `profile` and `email` open. */
export interface Identity {
  readonly name?: string | undefined
  /** The sign-in name if it is an address. */
  readonly email?: string | undefined
  /** Whether the person, or `admin`, has confirmed the address. */
  readonly isConfirmed?: boolean
}

/** The sign-in that an ID token states. */
export interface Authentication {
  readonly identity: Identity
  readonly algorithm: IdTokenAlgorithm
  /** The instant of the sign-in, in epoch milliseconds. */
  readonly at: number
  /** Of the authorization request. */
  readonly nonce?: string | undefined
}

export interface IdTokenDraft {
  readonly issuer: string
  readonly clientId: string
  readonly subject: string
  readonly scopes: readonly string[]
  /** Unix seconds. */
  readonly iat: number
  readonly exp: number
  readonly authentication: Authentication
}

/** Returns the claims about a person that scopes open (OpenID Connect Core §5.4). */
export const identityClaims = (
  { name, email, isConfirmed }: Identity,
  scopes: Iterable<string>,
) => {
  const granted = new Set(scopes)
  return {
    ...(granted.has('profile') && name !== undefined && { name }),
    ...(granted.has('email') &&
      email !== undefined && {
        email,
        email_verified: isConfirmed === true,
      }),
  }
}

/** Signs the ID token that is issued with an access token. */
export function signIdToken(key: IdTokenKey, draft: IdTokenDraft, accessToken: string): string {
  const { issuer, clientId, subject, scopes, iat, exp, authentication } = draft
  const { algorithm, at, nonce, identity } = authentication
  const hash = createHash('sha256').update(accessToken).digest()
  const claims = {
    iss: issuer,
    sub: subject,
    aud: clientId,
    exp,
    iat,
    auth_time: Math.floor(at / 1000),
    ...(nonce !== undefined && { nonce }),
    at_hash: hash.subarray(0, hash.length / 2).toString('base64url'),
    ...identityClaims(identity, scopes),
  }
  const header = encodeHeader(key.kid, TYPE, algorithm)
  const input = `${header}.${toBase64url(JSON.stringify(claims))}`
  if (algorithm === 'ES256') return signToken(input, key.privateKey)
  return `${input}.${sign('sha256', Buffer.from(input), key.privateKey).toString('base64url')}`
}

/**
 * Returns the subject of an ID token that this server signed, also of an expired one; undefined
 * for any other text (`id_token_hint`, OpenID Connect Core §3.1.2.1).
 */
export async function readIdTokenSubject(
  jwt: string,
  findPublicKey: (kid: string) => KeyObject | undefined | Promise<KeyObject | undefined>,
  issuer: string,
): Promise<string | undefined> {
  const [header = '', payload = '', signature = ''] = jwt.split('.', 3)
  const { kid, typ } = decodeObject(header) ?? {}
  const key = typ === TYPE && typeof kid === 'string' ? await findPublicKey(kid) : undefined
  if (!key) return undefined
  const options = key.asymmetricKeyType === 'ec' ? { dsaEncoding: 'ieee-p1363' as const } : {}
  const signed = Buffer.from(`${header}.${payload}`)
  if (!verify('sha256', signed, { key, ...options }, Buffer.from(signature, 'base64url'))) {
    return undefined
  }
  const { iss, sub } = decodeObject(payload) ?? {}
  return iss === issuer && typeof sub === 'string' ? sub : undefined
}
