/** One attempt as it goes out: the live secrets sign, the transport sends (§9.5). */
import type { Send } from '../transport/attempt.ts'
import { signatureHeaders } from './signature.ts'
import type { LiveSecret, Post } from './work.ts'

export function signedPost(send: Send, userAgent: string): Post {
  return (registration, due, { n, now }) => {
    const body = Buffer.from(due.body)
    const headers = signatureHeaders({
      secrets: liveAt(registration.secrets, now),
      id: due.eventId,
      type: due.eventType,
      deliveryId: due.id,
      attempt: n,
      atS: Math.floor(now / 1000),
      body,
      userAgent,
    })
    return send({ url: registration.url, body, headers })
  }
}

/** The same objects each time: the signer keeps their keys by them. */
function liveAt(secrets: readonly LiveSecret[], now: number): readonly LiveSecret[] {
  const dead = secrets.some(({ expiresAt }) => expiresAt !== null && expiresAt <= now)
  return dead ? secrets.filter(({ expiresAt }) => expiresAt === null || expiresAt > now) : secrets
}
