/**
 * The texts of a person that an erasure searches for where no member names their owner: in logs,
 * mail, responses of receivers and stored responses. Pure.
 */
import type { Value } from '../../platform/storage/database.ts'
import type { PersonTrace } from '../../platform/storage/table.ts'

/** A shorter text occurs in the data of others. */
const LENGTH_MIN = 4
/** The input of a job bounds both (64 KiB). */
const LENGTH_MAX = 80
const VALUES_MAX = 150

/** The values as the input of a job stores them. */
export interface StoredPersonValues {
  /** Folded sign-in names, former ones included. */
  readonly names: readonly string[]
  /** Other folded values. */
  readonly others: readonly string[]
}

const fold = (text: string): string => text.normalize('NFC').toLowerCase()

/** Returns the text, and what its percent-encoding means. */
function readingsOf(text: string): string[] {
  const folded = fold(text)
  if (!/[%+]/.test(folded)) return [folded]
  const decode = (bytes: string) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString()
  const decoded = folded.replaceAll('+', ' ').replace(/(?:%[0-9a-f]{2})+/g, decode)
  return [folded, fold(decoded)]
}

export class PersonValues implements PersonTrace {
  readonly id: string
  readonly resource: string
  readonly #names: Set<string>
  readonly #others: Set<string>

  constructor(
    { id, resource }: Pick<PersonTrace, 'id' | 'resource'>,
    { names, others }: StoredPersonValues = { names: [], others: [] },
  ) {
    this.id = id
    this.resource = resource
    this.#names = new Set(names)
    this.#others = new Set(others)
  }

  /** Adds a text, or those in an array or object. */
  add(kind: 'name' | 'other', value: unknown): void {
    if (typeof value === 'object' && value !== null) {
      for (const inner of Object.values(value)) this.add(kind, inner)
    }
    if (typeof value !== 'string' || value.length < LENGTH_MIN) return
    if (this.#names.size + this.#others.size >= VALUES_MAX) return
    const set = kind === 'name' ? this.#names : this.#others
    set.add(fold(value.slice(0, LENGTH_MAX)))
  }

  names(...texts: readonly (Value | undefined)[]): boolean {
    return contains(texts, [...this.#names])
  }

  mentions(...texts: readonly (Value | undefined)[]): boolean {
    return contains(texts, [...this.#names, ...this.#others])
  }

  isSearchedBy(url: Value | undefined): boolean {
    const [, query = ''] = String(url).split('?', 2)
    const parts = query.split(/[&=]/).flatMap(readingsOf)
    const values = [...this.#names, ...this.#others]
    return parts.some(
      (part) => part.length >= LENGTH_MIN && values.some((value) => value.includes(part)),
    )
  }

  /** Whether a text is one of the values. */
  is(text: string): boolean {
    const folded = fold(text.slice(0, LENGTH_MAX))
    return this.#names.has(folded) || this.#others.has(folded)
  }

  stored(): StoredPersonValues {
    return { names: [...this.#names], others: [...this.#others] }
  }
}

/** Returns whether a text contains a value, as it is or as JSON has it. */
function contains(texts: readonly (Value | undefined)[], values: readonly string[]): boolean {
  const needles = values.flatMap((value) => [value, JSON.stringify(value).slice(1, -1)])
  return texts.some(
    (text) =>
      typeof text === 'string' &&
      readingsOf(text).some((reading) => needles.some((needle) => reading.includes(needle))),
  )
}
