/** Proof key for code exchange: S256 only, of every client (RFC 7636, §5.1). Pure. */
import { sha256 } from '../kernel/secret.ts'

/** A SHA-256 in base64url: exactly 43 characters, the last of which holds four bits only. */
const CHALLENGE = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/

export const isChallenge = (text: string): boolean => CHALLENGE.test(text)

/**
 * The one challenge `verifier` answers; undefined where it is none. It may be compared as any text:
 * it was public when it was sent.
 */
export const challengeOf = (verifier: string): string | undefined =>
  VERIFIER.test(verifier) ? sha256(verifier).toString('base64url') : undefined
