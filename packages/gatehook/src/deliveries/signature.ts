/**
 * The headers of a delivery, its three signatures among them (§9.5). Pure: the attempt's time is an
 * argument. `spec/vectors` holds what both this and the receiver kit must make.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

/**
 * `whsec_` + base64. The object is what keys are kept by: make it once per secret, not per call.
 */
export interface SigningSecret {
  readonly value: string
}

export interface Delivery {
  /** Live secrets, oldest first; at least one. */
  readonly secrets: readonly SigningSecret[]
  /** The event's id: the same on every attempt and for every registration. */
  readonly id: string
  readonly type: string
  readonly deliveryId: string
  /** 1 for the first. */
  readonly attempt: number
  /** Unix seconds of this attempt. */
  readonly atS: number
  readonly body: Uint8Array | string
  readonly userAgent: string
}

interface Keys {
  /** The whole text, for A and B. */
  readonly whole: KeyObject
  /** What is base64 after `whsec_`, for Standard Webhooks; undefined where that is none. */
  readonly decoded: KeyObject | undefined
}

/** Importing a key costs half of what signing with it does. */
const kept = new WeakMap<SigningSecret, Keys>()

function keysOf(secret: SigningSecret): Keys {
  let keys = kept.get(secret)
  if (!keys) {
    const text = secret.value.replace(/^whsec_/, '')
    const bytes = /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined
    keys = {
      whole: createSecretKey(secret.value, 'utf8'),
      decoded: bytes?.length ? createSecretKey(bytes) : undefined,
    }
    kept.set(secret, keys)
  }
  return keys
}

const mac = (key: KeyObject, prefix: string, body: Uint8Array | string, as: 'hex' | 'base64') => {
  const hmac = createHmac('sha256', key)
  return (prefix === '' ? hmac : hmac.update(prefix)).update(body).digest(as)
}

/** `X-Hub-Signature-256`: one secret over the body alone. */
export const signatureA = (secret: SigningSecret, body: Uint8Array | string): string =>
  `sha256=${mac(keysOf(secret).whole, '', body, 'hex')}`

/** `Gatehook-Signature`: all secrets over time and body, the newest first. */
export function signatureB(
  secrets: readonly SigningSecret[],
  atS: number,
  body: Uint8Array | string,
): string {
  let out = `t=${atS}`
  for (let n = secrets.length - 1; n >= 0; n--) {
    out += `,v1=${mac(keysOf(secrets[n]!).whole, `${atS}.`, body, 'hex')}`
  }
  return out
}

/**
 * `webhook-signature` of Standard Webhooks: all secrets that have a key for it, the newest first;
 * undefined where none has.
 */
export function signatureStandard(
  secrets: readonly SigningSecret[],
  id: string,
  atS: number,
  body: Uint8Array | string,
): string | undefined {
  const prefix = `${id}.${atS}.`
  const made: string[] = []
  for (let n = secrets.length - 1; n >= 0; n--) {
    const key = keysOf(secrets[n]!).decoded
    if (key) made.push(`v1,${mac(key, prefix, body, 'base64')}`)
  }
  return made.length === 0 ? undefined : made.join(' ')
}

/** All headers of one POST, as they stand on the wire. */
export function signatureHeaders(delivery: Delivery): Record<string, string> {
  const { secrets, id, atS, body } = delivery
  const [oldest] = secrets
  if (!oldest) throw new Error('a delivery without a secret')
  const headers: Record<string, string> = {
    'Content-Type': 'application/json',
    'User-Agent': delivery.userAgent,
    'Gatehook-Event': delivery.type,
    'Gatehook-Delivery': delivery.deliveryId,
    'Gatehook-Attempt': String(delivery.attempt),
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
