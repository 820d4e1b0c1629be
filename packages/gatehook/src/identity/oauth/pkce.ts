/** Proof Key for Code Exchange: `S256` only, required of every client (RFC 7636, §5.1). Pure. */
import { sha256 } from '../../kernel/secret.ts'

/** SHA-256 in canonical base64url: 43 characters, the last of which encodes four bits. */
const CHALLENGE = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/
/** RFC 7636 §4.1. */
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/

export const isChallenge = (text: string): boolean => CHALLENGE.test(text)

/**
 * Computes the challenge of a verifier; undefined if the verifier is malformed. Callers may compare
 * challenges in variable time: a challenge is not secret.
 *
 * @see RFC 7636 §4.2, §4.6
 */
export const computeChallenge = (verifier: string): string | undefined =>
  VERIFIER.test(verifier) ? sha256(verifier).toString('base64url') : undefined
