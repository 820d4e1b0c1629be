/**
 * Encrypts secrets at rest with AES-256-GCM. Each purpose has its own key, derived from the master
 * secret with HKDF (RFC 5869). The id of the row is additional authenticated data, so a value
 * decrypts in its own row only.
 *
 * Format: version (1 byte, 1) ‖ key id (8) ‖ nonce (12) ‖ ciphertext ‖ tag (16). Releases without
 * key ids wrote nonce ‖ ciphertext ‖ tag; a rotation rewrites these values.
 */
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import { Failure } from './failure.ts'
import type { Random } from './random.ts'

const FORMAT = 1
const KEY_ID_BYTES = 8
/** Version and key id: equal for all values that one master secret has encrypted. */
export const HEAD_BYTES = 1 + KEY_ID_BYTES
const NONCE_BYTES = 12
const TAG_BYTES = 16

const MISSING_MASTER =
  'This node was not started with the master secret that encrypts now. Retry later.'

/** A value was changed or moved, or this node does not have its master secret. */
export class DecryptionError extends Error {
  override readonly name = 'DecryptionError'
}

/** The HMAC keys of one purpose: `current` signs; each of `accepted` verifies. */
export interface MacKeys {
  readonly current: KeyObject
  /** The current key first. */
  readonly accepted: readonly KeyObject[]
}

/** A master secret with the keys derived from it. */
class MasterSecret {
  readonly text: string
  /** Identifies the secret without revealing it: 8 bytes of HKDF output, as hex. */
  readonly id: string
  readonly head: Buffer
  readonly #bytes: Buffer
  readonly #keys = new Map<string, KeyObject>()

  constructor(text: string) {
    this.text = text
    this.#bytes = Buffer.from(text, 'utf8')
    const id = Buffer.from(hkdfSync('sha256', this.#bytes, 'gatehook', 'key id', KEY_ID_BYTES))
    this.id = id.toString('hex')
    this.head = headOf(this.id)
  }

  /** Returns the 256-bit key of a purpose. */
  key(purpose: string): KeyObject {
    let key = this.#keys.get(purpose)
    if (!key) {
      const bytes = hkdfSync('sha256', this.#bytes, 'gatehook', purpose, 32)
      key = createSecretKey(Buffer.from(bytes))
      this.#keys.set(purpose, key)
    }
    return key
  }
}

/** Returns the first bytes of every value that the master secret with this id has encrypted. */
export const headOf = (keyId: string): Buffer =>
  Buffer.concat([Buffer.from([FORMAT]), Buffer.from(keyId, 'hex')])

export const keyIdOf = (master: string): string => new MasterSecret(master).id

/**
 * Encrypts and decrypts with one or more master secrets; the active one encrypts.
 *
 * @example
 * const vault = new Vault(masterSecret, systemRandom())
 * const encrypted = vault.encrypt('totp', operatorId, totpSecret)
 * vault.decrypt('totp', operatorId, encrypted)
 */
export class Vault {
  readonly #random: Random
  /** The active secret first. */
  #masters: readonly MasterSecret[]
  #missingKeyId: string | undefined
  #generation = 0
  /** Keys of master secrets that were rotated out, by purpose. */
  readonly #retired = new Map<string, readonly KeyObject[]>()
  /** Called before a decryption fails; may call `addMasters`. */
  reload: () => void = () => {}

  /** `master`: `GATEHOOK_SECRET_KEY`, at least 32 characters; the first of several is active. */
  constructor(master: string | readonly string[], random: Random) {
    this.#masters = [master].flat().map((text) => new MasterSecret(text))
    this.#random = random
  }

  get keyId(): string {
    return this.#masters[0]!.id
  }

  /** The ids of the master secrets of this vault, the active one first. */
  get keyIds(): readonly string[] {
    return this.#masters.map(({ id }) => id)
  }

  /** The id of the secret that must encrypt, if this node lacks it; `encrypt` then throws. */
  get missingKeyId(): string | undefined {
    return this.#missingKeyId
  }

  /** Changes with the master secrets: drop values that were decrypted before. */
  get generation(): number {
    return this.#generation
  }

  /** Returns the master secrets, the active one first, for another thread of this process. */
  masterSecrets(): readonly string[] {
    return this.#masters.map(({ text }) => text)
  }

  /** Adds master secrets for decryption; the active one stays. */
  addMasters(masters: readonly string[]): void {
    const ids = new Set(this.keyIds)
    const added = masters.map((text) => new MasterSecret(text)).filter(({ id }) => !ids.has(id))
    if (added.length > 0) this.#change([...this.#masters, ...added])
  }

  /** Makes the secret with this id the active one. Without that secret, `encrypt` throws. */
  activate(keyId: string): void {
    const active = this.#masters.find(({ id }) => id === keyId)
    this.#missingKeyId = active ? undefined : keyId
    if (!active || active === this.#masters[0]) return
    this.#change([active, ...this.#masters.filter((master) => master !== active)])
  }

  /** Removes every master secret except the active one. */
  dropInactive(): void {
    if (this.#masters.length > 1) this.#change([this.#masters[0]!])
  }

  #change(masters: readonly MasterSecret[]): void {
    this.#masters = masters
    this.#generation++
  }

  /** Returns the key of a purpose, derived from the active master secret. */
  key(purpose: string): KeyObject {
    return this.#masters[0]!.key(purpose)
  }

  /** Returns the HMAC keys of a purpose; each read reflects the current master secrets. */
  macKeys(purpose: string): MacKeys {
    const vault = this
    return {
      get current() {
        return vault.key(purpose)
      },
      get accepted() {
        const retired = vault.#retired.get(purpose) ?? []
        return [...vault.#masters.map((master) => master.key(purpose)), ...retired]
      },
    }
  }

  /** Sets the keys of a purpose that still verify after their master secret was rotated out. */
  acceptRetiredKeys(purpose: string, keys: readonly Uint8Array[]): void {
    this.#retired.set(
      purpose,
      keys.map((bytes) => createSecretKey(bytes)),
    )
  }

  /**
   * Encrypts a value for one row.
   *
   * @throws `storage_unavailable` without the active master secret.
   */
  encrypt(purpose: string, row: string, plain: string | Uint8Array): Buffer {
    if (this.#missingKeyId !== undefined) throw new Failure('storage_unavailable', MISSING_MASTER)
    const master = this.#masters[0]!
    const nonce = this.#random.bytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', master.key(encryptionPurpose(purpose)), nonce)
    cipher.setAAD(bindingOf(master.head, row))
    const body = typeof plain === 'string' ? cipher.update(plain, 'utf8') : cipher.update(plain)
    return Buffer.concat([master.head, nonce, body, cipher.final(), cipher.getAuthTag()])
  }

  /**
   * Decrypts a value.
   *
   * @throws {DecryptionError} The value is of another purpose, row or master secret, or was
   *   changed.
   */
  decrypt(purpose: string, row: string, encrypted: Uint8Array): Buffer {
    const decrypted = this.#tryDecrypt(purpose, row, encrypted)
    if (decrypted) return decrypted.plain
    const { generation } = this
    this.reload()
    const retried =
      this.generation === generation ? undefined : this.#tryDecrypt(purpose, row, encrypted)
    if (retried) return retried.plain
    throw new DecryptionError(`The stored secret of ${purpose} ${row} cannot be decrypted.`)
  }

  /** Returns the id of the master secret that decrypts a value; undefined if none does. */
  findKeyId(purpose: string, row: string, encrypted: Uint8Array): string | undefined {
    return this.#tryDecrypt(purpose, row, encrypted)?.master.id
  }

  /** Returns the key of a purpose under one of the master secrets, to store it as a retired key. */
  retiringKey(keyId: string, purpose: string): KeyObject {
    return this.#masters.find(({ id }) => id === keyId)!.key(purpose)
  }

  #tryDecrypt(purpose: string, row: string, encrypted: Uint8Array): Decrypted | undefined {
    const head = Buffer.from(encrypted.subarray(0, HEAD_BYTES))
    const named = this.#masters.find((master) => master.head.equals(head))
    if (named) {
      const key = named.key(encryptionPurpose(purpose))
      const plain = decryptBytes(key, encrypted.subarray(HEAD_BYTES), bindingOf(named.head, row))
      return plain && { plain, master: named }
    }
    for (const master of this.#masters) {
      const plain = decryptBytes(master.key(purpose), encrypted, undefined)
      if (plain) return { plain, master }
    }
    return undefined
  }
}

interface Decrypted {
  readonly plain: Buffer
  readonly master: MasterSecret
}

/** HMAC keys and encryption keys of one purpose differ. The text is part of the stored format. */
const encryptionPurpose = (purpose: string): string => `seal ${purpose}`

/** The head has a fixed length, so the pair is unambiguous. */
const bindingOf = (head: Buffer, row: string): Buffer => Buffer.concat([head, Buffer.from(row)])

function decryptBytes(
  key: KeyObject,
  encrypted: Uint8Array,
  binding: Buffer | undefined,
): Buffer | undefined {
  if (encrypted.length < NONCE_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, encrypted.subarray(0, NONCE_BYTES))
  if (binding) decipher.setAAD(binding)
  decipher.setAuthTag(encrypted.subarray(encrypted.length - TAG_BYTES))
  const body = decipher.update(encrypted.subarray(NONCE_BYTES, encrypted.length - TAG_BYTES))
  try {
    return Buffer.concat([body, decipher.final()])
  } catch {
    return undefined
  }
}

/** Hashes a secret of at least 128 bits of entropy (keys, refresh tokens) for storage. */
export const sha256 = (text: string): Buffer => hash('sha256', text, 'buffer')
