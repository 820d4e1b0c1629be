/**
 * The three signatures a delivery carries (rules §9.5): texts that are signed, keys, and the check
 * of a MAC. Only Web Crypto; who decides among the three is in `verify.ts`.
 */

/** `A`: X-Hub-Signature-256. `B`: Gatehook-Signature. `standard`: Standard Webhooks. */
export type Scheme = 'A' | 'B' | 'standard'

/** Raw bytes of a body. A string stands for its UTF-8 bytes. */
export type Bytes = Uint8Array | ArrayBuffer | string

const encoder = new TextEncoder()
const HMAC = { name: 'HMAC', hash: 'SHA-256' } as const

/** Of one name as it stands on the wire. */
export const HEADER = {
  A: 'X-Hub-Signature-256',
  B: 'Gatehook-Signature',
  standard: 'webhook-signature',
  standardId: 'webhook-id',
  standardTimestamp: 'webhook-timestamp',
} as const

/**
 * The bytes themselves, copied so that nobody changes them between check and use.
 *
 * @throws TypeError for anything else, which mostly means that a body parser ran first.
 */
export function rawBytes(body: Bytes): Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return encoder.encode(body)
  if (body instanceof Uint8Array) return new Uint8Array(body)
  if (body instanceof ArrayBuffer) return new Uint8Array(body.slice(0))
  throw new TypeError(
    'The body must be the raw bytes (Uint8Array, ArrayBuffer or string), not what a parser made.',
  )
}

/** What is signed: the body alone (A), `t.body` (B), `id.t.body` (Standard Webhooks). */
export function signedContent(
  prefix: string,
  body: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  if (prefix === '') return body
  const head = encoder.encode(prefix)
  const content = new Uint8Array(head.length + body.length)
  content.set(head)
  content.set(body, head.length)
  return content
}

/**
 * The HMAC key of a secret: A and B take the whole string, Standard Webhooks what is base64 after
 * `whsec_`. Undefined where a secret has no such part, so it cannot sign that way.
 */
export async function keyOf(secret: string, scheme: Scheme): Promise<CryptoKey | undefined> {
  const bytes =
    scheme === 'standard' ? fromBase64(secret.replace(/^whsec_/, '')) : encoder.encode(secret)
  if (!bytes || bytes.length === 0) return undefined
  return await crypto.subtle.importKey('raw', bytes, HMAC, false, ['sign', 'verify'])
}

export async function mac(key: CryptoKey, content: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, content))
}

/**
 * Whether a MAC is the key's. The comparison is the platform's, constant in time by its
 * specification (Web Crypto, HMAC verify); a MAC of another length fails.
 */
export async function macIsValid(
  key: CryptoKey,
  given: Uint8Array<ArrayBuffer>,
  content: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  return await crypto.subtle.verify('HMAC', key, given, content)
}

export const toHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Undefined for text that is not whole hexadecimal bytes. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 2 === 1 || !/^[0-9a-fA-F]*$/.test(text)) return undefined
  const bytes = new Uint8Array(text.length / 2)
  for (let n = 0; n < bytes.length; n++)
    bytes[n] = Number.parseInt(text.slice(2 * n, 2 * n + 2), 16)
  return bytes
}

export const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

/** Undefined for text that is not base64 (the alphabet with `+` and `/`). */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
  } catch {
    return undefined // a length no base64 text has
  }
}
