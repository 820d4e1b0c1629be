/**
 * Signed JWTs as text (RFC 7515): encoding, canonical decoding, and signatures of P-256 keys, of
 * which the server accepts the low-s form only. Pure.
 */
import { type KeyObject, sign } from 'node:crypto'

/** In base64url, with the dot before it. */
export const SIGNATURE_CHARACTERS = 87

export const toBase64url = (text: string): string => Buffer.from(text, 'utf8').toString('base64url')

/** The `typ` of assertions to upstreams (§17.5), which no path accepts. */
export const ASSERTION_TYPE = 'gatehook-assertion+jwt'

/** Encodes a JOSE header. All tokens of a key and a type share it. */
export const encodeHeader = (kid: string, typ = 'at+jwt', alg = 'ES256'): string =>
  toBase64url(JSON.stringify({ alg, typ, kid }))

/** Signs with a P-256 key and returns the JWT. */
export function signToken(input: string, privateKey: KeyObject): string {
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
  const signature = toLowS(sign('sha256', Buffer.from(input, 'latin1'), key))
  return `${input}.${signature.toString('base64url')}`
}

/** Decodes base64url; undefined unless the text is its only spelling: no padding, no spare bits. */
export function decodeCanonical(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

export function decodeObject(part: string): Record<string, unknown> | undefined {
  const bytes = decodeCanonical(part)
  if (!bytes) return undefined
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** The order n of P-256, and n / 2: of the signatures (r, s) and (r, n − s) one has the low s. */
const ORDER = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex')
const HALF = Buffer.from('7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a8', 'hex')
const S_OFFSET = 32

export const isLowS = (signature: Buffer): boolean =>
  signature.compare(HALF, 0, S_OFFSET, S_OFFSET) <= 0

/**
 * Returns the low-s form of an ECDSA signature. The server accepts only that form, so a token has
 * one spelling: caches and logs may compare tokens as text.
 */
function toLowS(signature: Buffer): Buffer {
  if (isLowS(signature)) return signature
  let borrow = 0
  for (let at = ORDER.length - 1; at >= 0; at--) {
    const difference = ORDER[at]! - signature[S_OFFSET + at]! - borrow
    borrow = difference < 0 ? 1 : 0
    signature[S_OFFSET + at] = difference // the assignment stores its low eight bits
  }
  return signature
}
