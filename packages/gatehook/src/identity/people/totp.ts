/**
 * Generates and verifies time-based codes (RFC 6238, six digits, 30 s) and recovery codes. Pure;
 * `second-factor.ts` stores them.
 */
import { Secret, TOTP } from 'otpauth'
import type { Random } from '../../kernel/random.ts'

const PERIOD_S = 30
const DIGITS = 6
/** RFC 4226 §4 recommends 160 bits. */
const SECRET_BYTES = 20
/** Steps before and after the current one whose codes are accepted. */
const WINDOW = 1
const RECOVERY_CODES = 10
/** 160 bits: a plain hash cannot be reversed by brute force. */
const RECOVERY_BYTES = 20

const totpOf = (secret: string, issuer = '', label = ''): TOTP =>
  new TOTP({ secret: Secret.fromBase32(secret), issuer, label, digits: DIGITS, period: PERIOD_S })

/** Returns a new secret in base32. */
export const generateTotpSecret = (random: Random): string =>
  new Secret({ buffer: new Uint8Array(random.bytes(SECRET_BYTES)).buffer }).base32

/** Returns the `otpauth://totp/…` URI that authenticator apps scan. */
export const totpUri = (secret: string, issuer: string, account: string): string =>
  totpOf(secret, issuer, account).toString()

/**
 * Returns the step of a code, in units of 30 s since 1970. Returns undefined for a wrong code, and
 * for a step up to `lastStep`: a code is accepted once.
 *
 * @see RFC 6238 §5.2
 */
export function findCodeStep(
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

/**
 * Generates recovery codes, which replace TOTP codes when the operator has lost the device. Each
 * has eight groups of four characters: `abcd-efgh-…`.
 */
export const generateRecoveryCodes = (random: Random): string[] =>
  Array.from({ length: RECOVERY_CODES }, () => {
    const buffer = new Uint8Array(random.bytes(RECOVERY_BYTES)).buffer
    return new Secret({ buffer }).base32.toLowerCase().match(/.{4}/g)!.join('-')
  })

/**
 * Returns a recovery code in the form that is hashed; undefined for a malformed code. Older
 * releases issued codes of half the length, which stay valid.
 */
export function normalizeRecoveryCode(code: string): string | undefined {
  const text = code.toLowerCase().replaceAll(/[\s-]/g, '')
  return /^(?:[a-z2-7]{16}){1,2}$/.test(text) ? text : undefined
}
