/**
 * Access tokens as JWTs (§4.1, RFC 9068): drafts, signs, parses and validates them. Pure; key
 * storage is `signing-keys.ts`, revocation is `revocation-feed.ts`. It uses `node:crypto`, because
 * a signature takes 29 µs there and 78 µs with jose's WebCrypto.
 */
import { type KeyObject, verify } from 'node:crypto'
import { Failure } from '../../kernel/failure.ts'
import { createTimeOrderedId } from '../../kernel/id.ts'
import type { Assertion } from '../../kernel/principal.ts'
import type { Random } from '../../kernel/random.ts'
import {
  type AccessTokenClaims,
  type Grant,
  type Rejection,
  SUBJECT_KINDS,
  type TokenBound,
  type TokenResponse,
} from './api.ts'
import { type Audiences, audienceClaim } from './audience.ts'
import {
  type IdTokenAlgorithm,
  type IdTokenDraft,
  type IdTokenKey,
  signIdToken,
} from './id-token.ts'
import {
  decodeCanonical,
  decodeObject,
  isLowS,
  SIGNATURE_CHARACTERS,
  signToken,
  toBase64url,
} from './jws.ts'

/** Half of the 16 KiB that a request's headers may have (§11.4). */
const MAX_TOKEN_CHARACTERS = 8192
const SIGNATURE_BYTES = 64
const CLOCK_TOLERANCE_MS = 5_000

/** Claims that a service's hook cannot set: the server's own, and those that affect validation. */
const RESERVED_CLAIMS: ReadonlySet<string> = new Set(
  (
    'iss sub aud exp nbf iat jti cnf act client_id scope sid customer mode kind third_party ' +
    'assertion_issuer assertion_rule assertion_identity'
  ).split(' '),
)

export interface TokenLifetimes {
  readonly accessMs: number
  /** Of a refresh token that is not used. */
  readonly idleMs: number
  /** Of a session, however often it is refreshed. */
  readonly absoluteMs: number
  /** `GATEHOOK_REFRESH_GRACE_S`. */
  readonly graceMs: number
}

export interface SigningKey {
  readonly kid: string
  /** The encoded JOSE header of its tokens. */
  readonly header: string
  readonly privateKey: KeyObject
  /** The keys that sign ID tokens meanwhile. */
  readonly identity: Readonly<Record<IdTokenAlgorithm, IdTokenKey>>
  /** The key that signs assertions to upstreams meanwhile, with its encoded JOSE header. */
  readonly assertion: IdTokenKey & { readonly header: string }
}

/**
 * An unsigned access token. A transaction drafts it, so that claims that are too large roll back;
 * it is signed after the commit, so that no transaction waits for a signature.
 */
export interface AccessTokenDraft {
  readonly key: SigningKey
  readonly signingInput: string
  readonly response: Omit<TokenResponse, 'access_token' | 'id_token'>
  /** Of a grant with the scope `openid`. */
  readonly identity: IdTokenDraft | undefined
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

export interface DraftDeps {
  readonly random: Random
  readonly lifetimes: TokenLifetimes
  readonly issuer: () => string
  readonly audiences: Audiences
}

/** Drafts an access token. Throws if its claims are too large. */
export function draftAccessToken(
  { random, lifetimes, issuer, audiences }: DraftDeps,
  key: SigningKey,
  grant: Grant,
  nowMs: number,
  bound?: TokenBound,
): AccessTokenDraft {
  const iat = Math.floor(nowMs / 1000)
  const latestExp = iat + lifetimes.accessMs / 1000
  const exp = bound ? Math.min(latestExp, Math.ceil(bound.endsAt / 1000)) : latestExp
  const scope = grant.scopes.join(' ')
  const { authentication, subject, clientId, scopes } = grant
  const statesSignIn = authentication && scopes.includes('openid')
  const claims: Record<string, unknown> = {
    iss: issuer(),
    sub: subject,
    aud: audienceClaim(grant.tokenAudience ?? grant.audience ?? [audiences.standard()]),
    exp,
    iat,
    jti: createTimeOrderedId('tok_', nowMs, random),
    client_id: clientId,
    scope,
    ...(bound?.id !== undefined && { sid: bound.id }),
    customer: grant.customer,
    mode: grant.mode,
    kind: grant.kind ?? 'person',
    ...(grant.assertion && assertionClaims(grant.assertion)),
    ...(grant.thirdParty && { third_party: true }),
  }
  for (const name in grant.claims) {
    if (!RESERVED_CLAIMS.has(name)) claims[name] = grant.claims[name]
  }
  return {
    key,
    signingInput: encodeSigningInput(key.header, claims),
    response: { token_type: 'Bearer', expires_in: exp - iat, scope },
    identity: statesSignIn
      ? { issuer: issuer(), subject, clientId, scopes, iat, exp, authentication }
      : undefined,
    expiresAt: exp * 1000,
  }
}

const assertionClaims = ({ issuer, rule, identity }: Assertion) => ({
  assertion_issuer: issuer,
  assertion_rule: rule,
  ...(identity !== undefined && { assertion_identity: identity }),
})

export function signDraft({
  key,
  signingInput,
  response,
  identity,
}: AccessTokenDraft): TokenResponse {
  const access_token = signToken(signingInput, key.privateKey)
  if (!identity) return { access_token, ...response }
  const idKey = key.identity[identity.authentication.algorithm]
  return { access_token, ...response, id_token: signIdToken(idKey, identity, access_token) }
}

/** Encodes the text to sign (RFC 7515 §5.1). Throws if the token would be too long. */
export function encodeSigningInput(header: string, claims: unknown): string {
  const input = `${header}.${toBase64url(JSON.stringify(claims))}`
  if (input.length + SIGNATURE_CHARACTERS > MAX_TOKEN_CHARACTERS) {
    throw new Error('the claims of an access token are too large: see the service’s claims hook')
  }
  return input
}

/** The parts of a JWT, before its signature is verified. */
interface UnverifiedToken {
  readonly kid: string
  readonly signingInput: string
  readonly payload: string
  readonly signature: Buffer
}

/**
 * Parses a JWT: three parts in canonical base64url, `alg` ES256, `typ` at+jwt, no `crit`. It
 * ignores keys that the header carries or references (`jwk`, `jku`, `x5u`). Returns undefined for
 * any other text.
 *
 * @see RFC 7515 §4.1.11 for `crit`: this server implements no extension
 * @see RFC 8725 §3.1, §3.11
 */
export function parseToken(jwt: string): UnverifiedToken | undefined {
  if (jwt.length > MAX_TOKEN_CHARACTERS) return undefined
  const [header, payload, signature, more] = jwt.split('.', 4)
  if (header === undefined || payload === undefined || signature === undefined) return undefined
  if (more !== undefined) return undefined
  const head = decodeObject(header)
  const bytes = decodeCanonical(signature)
  if (!head || bytes?.length !== SIGNATURE_BYTES || !isLowS(bytes)) return undefined
  const { alg, typ, kid, crit } = head
  if (alg !== 'ES256' || typ !== 'at+jwt' || typeof kid !== 'string') return undefined
  if (crit !== undefined) return undefined
  return { kid, signingInput: `${header}.${payload}`, payload, signature: bytes }
}

/** Returns the claims if the signature verifies and the required claims have the right types. */
export function verifySignature(
  token: UnverifiedToken,
  publicKey: KeyObject,
): AccessTokenClaims | undefined {
  const key = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const
  if (!verify('sha256', Buffer.from(token.signingInput), key, token.signature)) return undefined
  const claims = decodeObject(token.payload)
  return claims && hasRequiredClaims(claims) ? claims : undefined
}

/** Why a token is not valid, with the sentence for its caller. */
export interface TokenFault {
  readonly rejection: Rejection
  readonly message: string
}

const fault = (rejection: Rejection, message: string): TokenFault => ({ rejection, message })

export const FAULTS = {
  expired: fault('expired', 'The token has expired.'),
  early: fault('unknown', 'The token was issued in the future.'),
  notYet: fault('unknown', 'The token is not valid yet.'),
  otherIssuer: fault('unknown', 'The token has another issuer.'),
  otherAudience: fault('audience', 'The token is for another audience.'),
  notIssued: fault('unknown', 'The token was not issued by this server.'),
  isKey: fault('unknown', 'This is an API key, not a token. Send it in the header X-API-Key.'),
  revoked: fault('revoked', 'The token was revoked.'),
  clientEnded: fault('revoked', 'The client of the token is blocked or deleted.'),
  noCustomer: fault('unknown', 'The customer of the token does not exist.'),
} as const

export interface ExpectedClaims {
  readonly issuer: string
  /** Whether the claim `aud` permits the use of the token. */
  readonly accepts: (aud: AccessTokenClaims['aud']) => boolean
}

/**
 * Validates times, `iss` and `aud`, in the order of §3.5. Returns the fault of the first invalid
 * claim; undefined if all are valid.
 */
export function findInvalidClaim(
  { exp, iat, nbf, iss, aud }: AccessTokenClaims,
  { issuer, accepts }: ExpectedClaims,
  nowMs: number,
): TokenFault | undefined {
  if (exp * 1000 <= nowMs) return FAULTS.expired
  if (iat * 1000 > nowMs + CLOCK_TOLERANCE_MS) return FAULTS.early
  if (nbf !== undefined && !(Number(nbf) * 1000 <= nowMs + CLOCK_TOLERANCE_MS)) {
    return FAULTS.notYet
  }
  if (iss !== issuer) return FAULTS.otherIssuer
  if (!accepts(aud)) return FAULTS.otherAudience
  return undefined
}

/** The 401 `invalid_token` of a fault. */
export class InvalidToken extends Failure {
  readonly rejection: Rejection

  constructor({ rejection, message }: TokenFault) {
    super('invalid_token', message)
    this.rejection = rejection
  }
}

const STRING_CLAIMS = ['iss', 'sub', 'jti', 'client_id', 'scope', 'customer'] as const

function hasRequiredClaims(
  claims: Record<string, unknown>,
): claims is Record<string, unknown> & AccessTokenClaims {
  const { exp, iat, mode, kind, sid, aud } = claims
  const isAudience = (value: unknown) => typeof value === 'string'
  if (!(Array.isArray(aud) ? aud.every(isAudience) : isAudience(aud))) return false
  if (!Number.isFinite(exp) || !Number.isFinite(iat)) return false
  if (mode !== 'live' && mode !== 'test') return false
  if (!SUBJECT_KINDS.some((name) => name === kind)) return false
  if (sid !== undefined && typeof sid !== 'string') return false
  return STRING_CLAIMS.every((name) => typeof claims[name] === 'string')
}
