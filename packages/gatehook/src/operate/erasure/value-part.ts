/**
 * A part of the values of a person: an erasure finds more than it searches for at once, and so
 * walks the data once for each part. Values are in the order of their hashes, so that a walk in any
 * order finds the same part. Pure.
 */
import { hash } from 'node:crypto'

const HASH_CHARACTERS = 12
/** Values after the part are counted by the beginning of their hashes, up to this number. */
const LEFT_MAX = 500
const LEFT_HASH_CHARACTERS = 6

/** A part as the input of a job stores it. */
export interface StoredValuePart {
  /** The hash that precedes those of the part. */
  readonly after: string
  readonly values: readonly string[]
  /** The beginnings of hashes of values after the part. */
  readonly left: readonly string[]
}

/** The first part, of which no value was found. */
export const NO_PART: StoredValuePart = { after: '', values: [], left: [] }

const hashOf = (value: string): string =>
  hash('sha256', value, 'base64url').slice(0, HASH_CHARACTERS)

/** The least hashes of the found values, after those of the previous part. */
export class ValuePart {
  readonly #most: number
  readonly #after: string
  /** Hashes by their values. */
  readonly #hashes: Map<string, string>
  readonly #left: Set<string>

  /** @param most the number of values of a part */
  constructor(most: number, { after, values, left }: StoredValuePart) {
    this.#most = most
    this.#after = after
    this.#hashes = new Map(values.map((value) => [value, hashOf(value)]))
    this.#left = new Set(left)
  }

  /** The number of found values after the part; 500: as many, or more. */
  get left(): number {
    return this.#left.size
  }

  has(value: string): boolean {
    return this.#hashes.has(value)
  }

  values(): string[] {
    return [...this.#hashes.keys()]
  }

  /** Adds a value unless its place is in another part. Returns whether the part changed. */
  add(value: string): boolean {
    if (this.#hashes.has(value)) return false
    const place = hashOf(value)
    if (place <= this.#after) return false
    this.#hashes.set(value, place)
    if (this.#hashes.size <= this.#most) return true
    const [last, lastPlace] = this.#last()
    this.#hashes.delete(last)
    if (this.#left.size < LEFT_MAX) this.#left.add(lastPlace.slice(0, LEFT_HASH_CHARACTERS))
    return last !== value
  }

  #last(): [value: string, hash: string] {
    return [...this.#hashes].reduce((last, other) => (other[1] > last[1] ? other : last))
  }

  /** Returns the part after this one; the same if no value is after it. */
  next(): ValuePart {
    if (this.#left.size === 0) return this
    return new ValuePart(this.#most, { ...NO_PART, after: this.#last()[1] })
  }

  stored(): StoredValuePart {
    return { after: this.#after, values: this.values(), left: [...this.#left] }
  }
}
