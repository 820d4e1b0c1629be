/**
 * An access token as text (§4.1, RFC 9068): made, taken apart, judged. Pure; which keys there are
 * and what was revoked is not known here. On `node:crypto`: signing takes 29 µs, with jose's
 * WebCrypto 78 µs.
 */
import { type KeyObject, sign, verify } from 'node:crypto'
import { BEARER_CHALLENGE } from '../kernel/challenge.ts'
import { Failure } from '../kernel/failure.ts'
import type { Claims } from './grant.ts'

/** Headers may have 16 KiB (§11.4); a token leaves room for others. */
export const MAX_TOKEN_CHARACTERS = 8192
const SIGNATURE_BYTES = 64
/** In base64url, with the dot before it. */
const SIGNATURE_CHARACTERS = 87
const TOLERANCE_MS = 5_000
const CHALLENGE = { headers: { 'WWW-Authenticate': BEARER_CHALLENGE } }

/** What a service's hook cannot say (§4.1), and what would change how a token is judged. */
const RESERVED: ReadonlySet<string> = new Set([
  ...['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'cnf', 'act'],
  ...['client_id', 'scope', 'sid', 'customer', 'mode'],
])

export const invalidToken = (message: string): Failure =>
  new Failure('invalid_token', message, CHALLENGE)

/** The claims of a hook, without those that are ours to say. */
export const allowedClaims = (
  claims: Readonly<Record<string, unknown>> | undefined,
): Record<string, unknown> => {
  const allowed: Record<string, unknown> = {}
  for (const name in claims) if (!RESERVED.has(name)) allowed[name] = claims[name]
  return allowed
}

const base64url = (text: string): string => Buffer.from(text, 'utf8').toString('base64url')

/** The first part of every token a key signs. */
export const headerOf = (kid: string): string =>
  base64url(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid }))

/** What is signed; `header` is the key's `headerOf`. Throws where the token would be too long. */
export function signingInput(claims: Claims, header: string): string {
  const input = `${header}.${base64url(JSON.stringify(claims))}`
  if (input.length + SIGNATURE_CHARACTERS > MAX_TOKEN_CHARACTERS) {
    throw new Error('the claims of an access token are too large: see the service’s claims hook')
  }
  return input
}

/** The token, signed with a P-256 key. */
export function signToken(input: string, privateKey: KeyObject): string {
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
  const signature = lowered(sign('sha256', Buffer.from(input, 'latin1'), key))
  return `${input}.${signature.toString('base64url')}`
}

/** A token taken apart, not yet believed. */
export interface Unproven {
  readonly kid: string
  readonly signed: string
  readonly payload: string
  readonly signature: Buffer
}

/**
 * The parts of a token of our form: three canonical base64url parts, `alg` ES256, `typ` at+jwt, no
 * `crit`. Keys a header carries or points to (`jwk`, `jku`, `x5u`) are not looked at. Else
 * undefined.
 */
export function parseToken(jwt: string): Unproven | undefined {
  if (jwt.length > MAX_TOKEN_CHARACTERS) return undefined
  const [header, payload, signature, more] = jwt.split('.', 4)
  if (header === undefined || payload === undefined || signature === undefined) return undefined
  if (more !== undefined) return undefined
  const head = objectIn(header)
  const bytes = canonical(signature)
  if (!head || bytes?.length !== SIGNATURE_BYTES || !isLow(bytes)) return undefined
  const { alg, typ, kid, crit } = head
  if (alg !== 'ES256' || typ !== 'at+jwt' || typeof kid !== 'string') return undefined
  if (crit !== undefined) return undefined // RFC 7515 §4.1.11: no extension is understood here
  return { kid, signed: `${header}.${payload}`, payload, signature: bytes }
}

/** The claims, where `publicKey` made the signature and they have the form of ours. */
export function provenClaims(token: Unproven, publicKey: KeyObject): Claims | undefined {
  const key = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const
  if (!verify('sha256', Buffer.from(token.signed), key, token.signature)) return undefined
  const claims = objectIn(token.payload)
  return claims && isOurs(claims) ? claims : undefined
}

/** Who issues tokens, and for whom. */
export interface Expected {
  readonly issuer: string
  readonly audience: string
}

/**
 * The reference's order, after the signature and before revocation (§3.5): time, `iss`, `aud`.
 * Gives what is wrong; undefined: nothing.
 */
export function wrongWith(claims: Claims, expected: Expected, nowMs: number): string | undefined {
  const { exp, iat, nbf, iss, aud } = claims
  if (exp * 1000 <= nowMs) return 'The token has expired.'
  if (iat * 1000 > nowMs + TOLERANCE_MS) return 'The token was issued in the future.'
  if (nbf !== undefined && !(Number(nbf) * 1000 <= nowMs + TOLERANCE_MS)) {
    return 'The token is not valid yet.'
  }
  if (iss !== expected.issuer) return 'The token is of another issuer.'
  if (aud !== expected.audience) return 'The token is for another audience.'
  return undefined
}

const TEXTS = ['iss', 'sub', 'aud', 'jti', 'client_id', 'scope', 'customer'] as const

function isOurs(claims: Record<string, unknown>): claims is Record<string, unknown> & Claims {
  const { exp, iat, mode, sid } = claims
  if (!Number.isFinite(exp) || !Number.isFinite(iat)) return false
  if (mode !== 'live' && mode !== 'test') return false
  if (sid !== undefined && typeof sid !== 'string') return false
  return TEXTS.every((name) => typeof claims[name] === 'string')
}

/** Bytes of a base64url text, if it is the one way to write them: no padding, no spare bits set. */
function canonical(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

function objectIn(part: string): Record<string, unknown> | undefined {
  const bytes = canonical(part)
  if (!bytes) return undefined
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** The order of P-256, and half of it: of the two signatures (r, s) and (r, n − s) one is low. */
const ORDER = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex')
const HALF = Buffer.from('7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a8', 'hex')
const S_AT = 32

const isLow = (signature: Buffer): boolean => signature.compare(HALF, 0, S_AT, S_AT) <= 0

/**
 * The low one of the two signatures that are good for the same text. Only that is accepted, so that
 * nobody can write a second text of a token: some cache or log beyond us may go by the text.
 */
function lowered(signature: Buffer): Buffer {
  if (isLow(signature)) return signature
  let borrow = 0
  for (let at = ORDER.length - 1; at >= 0; at--) {
    const difference = ORDER[at]! - signature[S_AT + at]! - borrow
    borrow = difference < 0 ? 1 : 0
    signature[S_AT + at] = difference // the low eight bits stay
  }
  return signature
}
