/** Tokens as an attacker, or a careless program, would write them: by jose, not by our own code. */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { type CompactJWSHeaderParameters, CompactSign } from 'jose'
import { sql } from '../../src/storage/sql.ts'
import { SIGNING_PURPOSE } from '../../src/tokens/signing-key-store.ts'
import { type Desk, ISSUER, login } from './desk.ts'

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

/** Our own key, as only the server has it. */
export async function ownKey({ db, vault }: Desk): Promise<{ kid: string; key: KeyObject }> {
  const row = (await db.get(sql`SELECT kid, sealed_private_jwk FROM gh_signing_keys`))!
  const jwk = JSON.parse(vault.decrypt(SIGNING_PURPOSE, row.kid, row.sealed_private_jwk).toString())
  return { kid: row.kid, key: createPrivateKey({ format: 'jwk', key: jwk }) }
}

/** Claims that are good at the desk's time. */
export function goodClaims({ time }: Desk): Record<string, unknown> {
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
  }
}

export const part = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** Signed properly, whatever it says; the low one of the two signatures, as ours are. */
export async function signed(
  key: KeyObject | Uint8Array,
  header: Record<string, unknown>,
  claims: Record<string, unknown>,
): Promise<string> {
  const jws = new CompactSign(Buffer.from(JSON.stringify(claims)))
  const options = { crit: { 'urn:example': true } }
  jws.setProtectedHeader(header as CompactJWSHeaderParameters)
  const token = await jws.sign(key as never, options)
  return header.alg === 'ES256' && !isLow(token) ? mirrored(token) : token
}

const bytesOf = (token: string) => Buffer.from(token.slice(token.lastIndexOf('.') + 1), 'base64url')
const sOf = (bytes: Buffer) => BigInt(`0x${bytes.toString('hex', 32)}`)
const isLow = (token: string) => sOf(bytesOf(token)) <= ORDER / 2n

/** The other signature that is good for the same text: (r, n − s). */
export function mirrored(token: string): string {
  const bytes = bytesOf(token)
  const s = (ORDER - sOf(bytes)).toString(16).padStart(64, '0')
  const other = Buffer.concat([bytes.subarray(0, 32), Buffer.from(s, 'hex')])
  return `${token.slice(0, token.lastIndexOf('.') + 1)}${other.toString('base64url')}`
}

/** The same bytes in another text: bits the last character has to spare are set. */
export function respelled(token: string): string {
  const last = DIGITS.indexOf(token.at(-1)!)
  return token.slice(0, -1) + DIGITS[last + 1]
}
