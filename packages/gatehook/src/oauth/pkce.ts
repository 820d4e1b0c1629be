/** Proof key for code exchange: S256 only, of every client (RFC 7636, §5.1). Pure. */
import { timingSafeEqual } from 'node:crypto'
import { sha256 } from '../kernel/secret.ts'

/** A SHA-256 in base64url: exactly 43 characters, the last of which holds four bits only. */
const CHALLENGE = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/

export const isChallenge = (text: string): boolean => CHALLENGE.test(text)

/** Whether `verifier` is what the challenge was made of. */
export function proves(verifier: string, challenge: string): boolean {
  if (!VERIFIER.test(verifier)) return false
  const made = sha256(verifier)
  const wanted = Buffer.from(challenge, 'base64url')
  return made.length === wanted.length && timingSafeEqual(made, wanted)
}
