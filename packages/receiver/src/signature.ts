/**
 * The three signature schemes of a delivery (§9.5): signed contents, keys, MACs. It uses Web Crypto
 * only; `verify.ts` selects the scheme.
 */

/** `A`: X-Hub-Signature-256. `B`: Gatehook-Signature. `standard`: Standard Webhooks. */
export type Scheme = 'A' | 'B' | 'standard'

/** The raw bytes of a body; a string means its UTF-8 bytes. */
export type Bytes = Uint8Array | ArrayBuffer | string

const encoder = new TextEncoder()
const HMAC = { name: 'HMAC', hash: 'SHA-256' } as const

/** The names of the headers. */
export const HEADER = {
  A: 'X-Hub-Signature-256',
  B: 'Gatehook-Signature',
  standard: 'webhook-signature',
  standardId: 'webhook-id',
  standardTimestamp: 'webhook-timestamp',
} as const

/**
 * Copies the bytes of a body, so that they cannot change between verification and use.
 *
 * @throws {TypeError} The body is not bytes, usually because a body parser ran first.
 */
export function copyBytes(body: Bytes): Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return encoder.encode(body)
  if (body instanceof Uint8Array) return new Uint8Array(body)
  if (body instanceof ArrayBuffer) return new Uint8Array(body.slice(0))
  throw new TypeError(
    'The body must be raw bytes (Uint8Array, ArrayBuffer or string), not the result of a parser.',
  )
}

/** Returns the signed content: the body (A), `t.body` (B), `id.t.body` (Standard Webhooks). */
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
 * Derives the HMAC key of a secret. A and B use the whole string, Standard Webhooks the base64
 * after `whsec_`. Returns undefined if the secret has no key for the scheme.
 */
export async function deriveKey(secret: string, scheme: Scheme): Promise<CryptoKey | undefined> {
  const bytes =
    scheme === 'standard' ? fromBase64(secret.replace(/^whsec_/, '')) : encoder.encode(secret)
  if (!bytes || bytes.length === 0) return undefined
  return await crypto.subtle.importKey('raw', bytes, HMAC, false, ['sign', 'verify'])
}

export async function computeMac(
  key: CryptoKey,
  content: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, content))
}

/**
 * Verifies a MAC in constant time (Web Crypto, HMAC verify). A MAC of another length is not valid.
 */
export async function isMacValid(
  key: CryptoKey,
  candidate: Uint8Array<ArrayBuffer>,
  content: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  return await crypto.subtle.verify('HMAC', key, candidate, content)
}

export const toHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Decodes hexadecimal; undefined for any other text. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 2 === 1 || !/^[0-9a-fA-F]*$/.test(text)) return undefined
  const bytes = new Uint8Array(text.length / 2)
  for (let n = 0; n < bytes.length; n++)
    bytes[n] = Number.parseInt(text.slice(2 * n, 2 * n + 2), 16)
  return bytes
}

export const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

/** Decodes base64 with `+` and `/`; undefined for any other text. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
  } catch {
    return undefined // the length is invalid
  }
}
