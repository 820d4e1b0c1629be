/**
 * The second factor of operators: time-based codes (RFC 6238, six digits, 30 s) and recovery codes.
 * Pure; what is stored of them is `second-factor.ts`.
 */
import { Secret, TOTP } from 'otpauth'
import type { Random } from '../kernel/random.ts'

const PERIOD_S = 30
const DIGITS = 6
/** RFC 4226 §4 recommends 160 bits. */
const SECRET_BYTES = 20
/** Steps before and after the present one whose codes are accepted. */
const WINDOW = 1
export const RECOVERY_CODES = 10
/** 160 bits: a plain hash of one cannot be reversed by trying. */
const RECOVERY_BYTES = 20

const totpOf = (secret: string, issuer = '', label = ''): TOTP =>
  new TOTP({ secret: Secret.fromBase32(secret), issuer, label, digits: DIGITS, period: PERIOD_S })

/** A new secret, in base32. */
export const newTotpSecret = (random: Random): string =>
  new Secret({ buffer: new Uint8Array(random.bytes(SECRET_BYTES)).buffer }).base32

/** What authenticator apps read: `otpauth://totp/…`. */
export const totpUri = (secret: string, issuer: string, account: string): string =>
  totpOf(secret, issuer, account).toString()

/**
 * The step (30 s since 1970) whose code was sent; undefined for a wrong code, and for one of
 * `lastStep` or before: a code is accepted once.
 */
export function stepOfCode(
  secret: string,
  code: string,
  nowMs: number,
  lastStep: number,
): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined
  const delta = totpOf(secret).validate({ token: code, timestamp: nowMs, window: WINDOW })
  if (delta === null) return undefined
  const step = Math.floor(nowMs / 1000 / PERIOD_S) + delta
  return step > lastStep ? step : undefined
}

/** Codes for an operator who has lost the device: eight groups as in `abcd-efgh-…`. */
export const newRecoveryCodes = (random: Random): string[] =>
  Array.from({ length: RECOVERY_CODES }, () => {
    const buffer = new Uint8Array(random.bytes(RECOVERY_BYTES)).buffer
    return new Secret({ buffer }).base32.toLowerCase().match(/.{4}/g)!.join('-')
  })

/**
 * A recovery code as it is hashed; undefined for what cannot be one. Codes were half as long once,
 * and those of that time stay valid.
 */
export function recoveryText(code: string): string | undefined {
  const text = code.toLowerCase().replaceAll(/[\s-]/g, '')
  return /^(?:[a-z2-7]{16}){1,2}$/.test(text) ? text : undefined
}
