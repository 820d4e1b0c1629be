/** Signs access tokens with jose, as an attacker or a faulty program would. */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { type CompactJWSHeaderParameters, CompactSign } from 'jose'
import { SIGNING_PURPOSE } from '../../src/identity/tokens/tables.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { ISSUER, login, type TokenNode } from './token-node.ts'

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

/** Decrypts the signing key of a node. */
export async function readSigningKey({
  db,
  vault,
}: TokenNode): Promise<{ kid: string; key: KeyObject }> {
  const row = (await db.get(sql`SELECT kid, encrypted_private_jwk FROM gh_signing_keys`))!
  const jwk = JSON.parse(
    vault.decrypt(SIGNING_PURPOSE, row.kid, row.encrypted_private_jwk).toString(),
  )
  return { kid: row.kid, key: createPrivateKey({ format: 'jwk', key: jwk }) }
}

/** Returns claims that are valid at the time of a node. */
export function validClaims({ time }: TokenNode): Record<string, unknown> {
  const iat = Math.floor(time.nowMs / 1000)
  return {
    iss: ISSUER,
    aud: ISSUER,
    sub: '7',
    iat,
    exp: iat + 900,
    jti: 'tok_1',
    client_id: 'gatehook',
    scope: 'things:read',
    sid: 'ses_1',
    customer: login.customer,
    mode: login.mode,
    kind: 'person',
  }
}

export const encodePart = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** Signs any claims under any header; an ES256 signature has the low s, as the server requires. */
export async function signClaims(
  key: KeyObject | Uint8Array,
  header: Record<string, unknown>,
  claims: Record<string, unknown>,
): Promise<string> {
  const jws = new CompactSign(Buffer.from(JSON.stringify(claims)))
  const options = { crit: { 'urn:example': true } }
  jws.setProtectedHeader(header as CompactJWSHeaderParameters)
  const token = await jws.sign(key as never, options)
  return header.alg === 'ES256' && !isLowS(token) ? mirrorSignature(token) : token
}

const bytesOf = (token: string) => Buffer.from(token.slice(token.lastIndexOf('.') + 1), 'base64url')
const sOf = (bytes: Buffer) => BigInt(`0x${bytes.toString('hex', 32)}`)
const isLowS = (token: string) => sOf(bytesOf(token)) <= ORDER / 2n

/** Replaces a signature (r, s) by (r, n − s), which verifies as well. */
export function mirrorSignature(token: string): string {
  const bytes = bytesOf(token)
  const s = (ORDER - sOf(bytes)).toString(16).padStart(64, '0')
  const other = Buffer.concat([bytes.subarray(0, 32), Buffer.from(s, 'hex')])
  return `${token.slice(0, token.lastIndexOf('.') + 1)}${other.toString('base64url')}`
}

/** Returns another spelling of the same bytes: it sets spare bits of the last character. */
export function respell(token: string): string {
  const last = DIGITS.indexOf(token.at(-1)!)
  return token.slice(0, -1) + DIGITS[last + 1]
}
