/**
 * The headers of a delivery with its three signatures, and the signed POST (§9.5). The attempt's
 * time is an argument. `spec/vectors` has the signatures that this file and the receiver kit must
 * generate.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import type { Send } from '../transport/attempt.ts'
import type { LiveSecret, PostDelivery } from './ports.ts'

/**
 * A signing secret: `whsec_` and base64. Its keys are cached by this object: create one object per
 * secret, not per attempt.
 */
export interface SigningSecret {
  readonly value: string
}

interface SignedDelivery {
  /** Live secrets, oldest first; at least one. */
  readonly secrets: readonly SigningSecret[]
  /** The event's id: the same on every attempt and for every registration. */
  readonly id: string
  readonly type: string
  readonly deliveryId: string
  /** From 1. */
  readonly attempt: number
  /** Unix seconds of this attempt. */
  readonly atS: number
  readonly body: Uint8Array | string
  readonly userAgent: string
}

interface SigningKeys {
  /** The whole string, for variants A and B. */
  readonly whole: KeyObject
  /** The decoded part after `whsec_`, for Standard Webhooks; undefined unless it is base64. */
  readonly decoded: KeyObject | undefined
}

/** Importing a key costs half as much as signing with it. */
const cachedKeys = new WeakMap<SigningSecret, SigningKeys>()

function keysOf(secret: SigningSecret): SigningKeys {
  let keys = cachedKeys.get(secret)
  if (!keys) {
    const text = secret.value.replace(/^whsec_/, '')
    const bytes = /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined
    keys = {
      whole: createSecretKey(secret.value, 'utf8'),
      decoded: bytes?.length ? createSecretKey(bytes) : undefined,
    }
    cachedKeys.set(secret, keys)
  }
  return keys
}

const hmacOf = (
  key: KeyObject,
  prefix: string,
  body: Uint8Array | string,
  encoding: 'hex' | 'base64',
) => {
  const hmac = createHmac('sha256', key)
  return (prefix === '' ? hmac : hmac.update(prefix)).update(body).digest(encoding)
}

/** Returns `X-Hub-Signature-256` (variant A): one secret signs the body alone. */
export const signatureA = (secret: SigningSecret, body: Uint8Array | string): string =>
  `sha256=${hmacOf(keysOf(secret).whole, '', body, 'hex')}`

/** Returns `Gatehook-Signature` (variant B): each secret, newest first, signs time and body. */
export function signatureB(
  secrets: readonly SigningSecret[],
  atS: number,
  body: Uint8Array | string,
): string {
  let out = `t=${atS}`
  for (let n = secrets.length - 1; n >= 0; n--) {
    out += `,v1=${hmacOf(keysOf(secrets[n]!).whole, `${atS}.`, body, 'hex')}`
  }
  return out
}

/**
 * Returns `webhook-signature` of Standard Webhooks: each secret with a base64 part signs, newest
 * first; undefined when no secret has one.
 */
export function signatureStandard(
  secrets: readonly SigningSecret[],
  id: string,
  atS: number,
  body: Uint8Array | string,
): string | undefined {
  const prefix = `${id}.${atS}.`
  const signatures: string[] = []
  for (let n = secrets.length - 1; n >= 0; n--) {
    const key = keysOf(secrets[n]!).decoded
    if (key) signatures.push(`v1,${hmacOf(key, prefix, body, 'base64')}`)
  }
  return signatures.length === 0 ? undefined : signatures.join(' ')
}

/** Returns the headers of one POST that need no secret. */
export const plainHeaders = (
  delivery: Omit<SignedDelivery, 'secrets' | 'body'>,
): Record<string, string> => ({
  'Content-Type': 'application/json',
  'User-Agent': delivery.userAgent,
  'Gatehook-Event': delivery.type,
  'Gatehook-Delivery': delivery.deliveryId,
  'Gatehook-Attempt': String(delivery.attempt),
})

/** Returns all headers of one POST. Throws without a secret. */
export function signatureHeaders(delivery: SignedDelivery): Record<string, string> {
  const { secrets, id, atS, body } = delivery
  const [oldest] = secrets
  if (!oldest) throw new Error('a delivery needs a signing secret')
  const headers: Record<string, string> = {
    ...plainHeaders(delivery),
    'X-Hub-Signature-256': signatureA(oldest, body),
    'Gatehook-Signature': signatureB(secrets, atS, body),
  }
  const standard = signatureStandard(secrets, id, atS, body)
  if (standard !== undefined) {
    headers['webhook-id'] = id
    headers['webhook-timestamp'] = String(atS)
    headers['webhook-signature'] = standard
  }
  return headers
}

/** Returns the function that signs a delivery with the live secrets and POSTs it. */
export function signedPost(send: Send, userAgent: string): PostDelivery {
  return (registration, due, { n, now, headers: more }) => {
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
    return send({ url: registration.url, body, headers: { ...headers, ...more } })
  }
}

/** Returns the secrets that have not expired. Keys are cached by object, so it copies none. */
function liveAt(secrets: readonly LiveSecret[], now: number): readonly LiveSecret[] {
  const isLive = ({ expiresAt }: LiveSecret) => expiresAt === null || expiresAt > now
  return secrets.every(isLive) ? secrets : secrets.filter(isLive)
}
