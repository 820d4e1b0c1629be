/**
 * Secrets at rest: keys derived from the master secret (HKDF, RFC 5869), one for each purpose, and
 * values encrypted with AES-256-GCM. An encrypted ("sealed") value opens in its own place only: the
 * purpose selects the key, and the id of the row is additional authenticated data.
 *
 * Form: format (1 byte, 1) ‖ key id (8) ‖ nonce (12) ‖ ciphertext ‖ tag (16). Releases before key
 * ids wrote nonce ‖ ciphertext ‖ tag; those values open until a rotation has rewritten them.
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
/** Format and key id: the same for all values that one master secret has sealed. */
export const HEAD_BYTES = 1 + KEY_ID_BYTES
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** A sealed value was changed or moved, or its master secret is not held here. */
export class SealError extends Error {
  override readonly name = 'SealError'
}

/** The keys of one purpose for HMACs: `current` signs; each of `accepted` verifies. */
export interface MacKeys {
  readonly current: KeyObject
  /** The current one first. */
  readonly accepted: readonly KeyObject[]
}

/** One master secret with the keys derived from it. */
class Master {
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

  /** The 256-bit key of a purpose. */
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

/** The first bytes of every value that the master secret with this id has sealed. */
export const headOf = (keyId: string): Buffer =>
  Buffer.concat([Buffer.from([FORMAT]), Buffer.from(keyId, 'hex')])

/** Identifies a master secret. */
export const keyIdOf = (master: string): string => new Master(master).id

export class Vault {
  readonly #random: Random
  /** The active one, which seals, first. */
  #masters: readonly Master[]
  /** The id of the secret that must seal but is not held. */
  #missing: string | undefined
  #generation = 0
  /** Keys of secrets that were rotated out, by purpose. */
  readonly #retired = new Map<string, readonly KeyObject[]>()
  /** Called when a value does not open; may call `hold`. */
  reload: () => void = () => {}

  /** `master`: at least 32 characters (`GATEHOOK_SECRET_KEY`); the first of several seals. */
  constructor(master: string | readonly string[], random: Random) {
    this.#masters = [master].flat().map((text) => new Master(text))
    this.#random = random
  }

  /** The id of the master secret that seals. */
  get keyId(): string {
    return this.#masters[0]!.id
  }

  /** The ids of the master secrets held, the active one first. */
  get keyIds(): readonly string[] {
    return this.#masters.map(({ id }) => id)
  }

  /** The id of the secret this node should seal with and does not hold; `seal` then throws. */
  get missing(): string | undefined {
    return this.#missing
  }

  /** Changes with the secrets held: values read before may no longer open. */
  get generation(): number {
    return this.#generation
  }

  /** The master secrets, the active one first: for another thread of this process. */
  masters(): readonly string[] {
    return this.#masters.map(({ text }) => text)
  }

  /** Adds master secrets that open values; which one seals does not change. */
  hold(masters: readonly string[]): void {
    const ids = new Set(this.keyIds)
    const added = masters.map((text) => new Master(text)).filter(({ id }) => !ids.has(id))
    if (added.length > 0) this.#change([...this.#masters, ...added])
  }

  /** Makes the secret with this id the one that seals; without it, nothing is sealed. */
  activate(keyId: string): void {
    const active = this.#masters.find(({ id }) => id === keyId)
    this.#missing = active ? undefined : keyId
    if (!active || active === this.#masters[0]) return
    this.#change([active, ...this.#masters.filter((master) => master !== active)])
  }

  /** Forgets every master secret but the active one. */
  dropOthers(): void {
    if (this.#masters.length > 1) this.#change([this.#masters[0]!])
  }

  #change(masters: readonly Master[]): void {
    this.#masters = masters
    this.#generation++
  }

  /** The key of a purpose under the active master secret. */
  key(purpose: string): KeyObject {
    return this.#masters[0]!.key(purpose)
  }

  /** The keys of a purpose, as they are whenever they are read. */
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

  /** Sets the keys of a purpose that verify although their master secret was rotated out. */
  acceptRetired(purpose: string, keys: readonly Uint8Array[]): void {
    this.#retired.set(
      purpose,
      keys.map((bytes) => createSecretKey(bytes)),
    )
  }

  /** Encrypts a value for one row. Throws `storage_unavailable` without the active secret. */
  seal(purpose: string, row: string, plain: string | Uint8Array): Buffer {
    if (this.#missing !== undefined) throw new Failure('storage_unavailable')
    const master = this.#masters[0]!
    const nonce = this.#random.bytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', master.key(sealPurpose(purpose)), nonce)
    cipher.setAAD(bindingOf(master.head, row))
    const body = typeof plain === 'string' ? cipher.update(plain, 'utf8') : cipher.update(plain)
    return Buffer.concat([master.head, nonce, body, cipher.final(), cipher.getAuthTag()])
  }

  /** Throws `SealError` for a value of another purpose, row or master secret, or a changed one. */
  open(purpose: string, row: string, sealed: Uint8Array): Buffer {
    const opened = this.#attempt(purpose, row, sealed)
    if (opened) return opened.plain
    const { generation } = this
    this.reload()
    const again = this.generation === generation ? undefined : this.#attempt(purpose, row, sealed)
    if (again) return again.plain
    throw new SealError(`The stored secret of ${purpose} ${row} cannot be decrypted.`)
  }

  /** The id of the master secret that a value opens with; undefined: with none held here. */
  keyIdOf(purpose: string, row: string, sealed: Uint8Array): string | undefined {
    return this.#attempt(purpose, row, sealed)?.master.id
  }

  /** The key of a purpose under one of the secrets held, for when that is rotated out. */
  keyUnder(keyId: string, purpose: string): KeyObject {
    return this.#masters.find(({ id }) => id === keyId)!.key(purpose)
  }

  #attempt(purpose: string, row: string, sealed: Uint8Array): Opened | undefined {
    const head = Buffer.from(sealed.subarray(0, HEAD_BYTES))
    const named = this.#masters.find((master) => master.head.equals(head))
    if (named) {
      const key = named.key(sealPurpose(purpose))
      const plain = decrypt(key, sealed.subarray(HEAD_BYTES), bindingOf(named.head, row))
      return plain && { plain, master: named }
    }
    for (const master of this.#masters) {
      const plain = decrypt(master.key(purpose), sealed, undefined)
      if (plain) return { plain, master }
    }
    return undefined
  }
}

interface Opened {
  readonly plain: Buffer
  readonly master: Master
}

const sealPurpose = (purpose: string): string => `seal ${purpose}`

/** The head has a fixed length, so no two pairs have the same bytes. */
const bindingOf = (head: Buffer, row: string): Buffer => Buffer.concat([head, Buffer.from(row)])

function decrypt(
  key: KeyObject,
  sealed: Uint8Array,
  binding: Buffer | undefined,
): Buffer | undefined {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES))
  if (binding) decipher.setAAD(binding)
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES))
  const body = decipher.update(sealed.subarray(NONCE_BYTES, sealed.length - TAG_BYTES))
  try {
    return Buffer.concat([body, decipher.final()])
  } catch {
    return undefined
  }
}

/** SHA-256, as secrets with enough entropy of their own are stored (keys, refresh tokens). */
export const sha256 = (text: string): Buffer => hash('sha256', text, 'buffer')
