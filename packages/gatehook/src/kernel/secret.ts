/**
 * Secrets at rest: one master secret, one derived key per purpose (HKDF, RFC 5869), sealed with
 * AES-256-GCM. A sealed value names its purpose, so a value of one purpose opens for no other.
 */
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import type { Random } from './random.ts'

const NONCE_BYTES = 12
const TAG_BYTES = 16

export class Vault {
  readonly #master: Buffer
  readonly #random: Random
  readonly #keys = new Map<string, KeyObject>()

  /** `master`: at least 32 characters of secret (`GATEHOOK_SECRET_KEY`). */
  constructor(master: string, random: Random) {
    this.#master = Buffer.from(master, 'utf8')
    this.#random = random
  }

  /** The 256-bit key of a purpose, for HMACs: `vault.key('cursor')`. */
  key(purpose: string): KeyObject {
    let key = this.#keys.get(purpose)
    if (!key) {
      const bytes = hkdfSync('sha256', this.#master, 'gatehook', purpose, 32)
      key = createSecretKey(Buffer.from(bytes))
      this.#keys.set(purpose, key)
    }
    return key
  }

  /** nonce ‖ ciphertext ‖ tag. */
  seal(purpose: string, plain: string | Uint8Array): Buffer {
    const nonce = this.#random.bytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.key(purpose), nonce)
    const body = typeof plain === 'string' ? cipher.update(plain, 'utf8') : cipher.update(plain)
    return Buffer.concat([nonce, body, cipher.final(), cipher.getAuthTag()])
  }

  /** Throws when the value was changed, or sealed under another purpose or master. */
  open(purpose: string, sealed: Uint8Array): Buffer {
    const nonce = sealed.subarray(0, NONCE_BYTES)
    const tag = sealed.subarray(sealed.length - TAG_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', this.key(purpose), nonce)
    decipher.setAuthTag(tag)
    const body = sealed.subarray(NONCE_BYTES, sealed.length - TAG_BYTES)
    return Buffer.concat([decipher.update(body), decipher.final()])
  }
}

/** SHA-256, as secrets with enough entropy of their own are stored (keys, refresh tokens). */
export const sha256 = (text: string): Buffer => hash('sha256', text, 'buffer')
