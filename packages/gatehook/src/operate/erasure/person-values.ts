/**
 * The values of a person that an erasure searches for where no member names their owner: in logs,
 * mail, responses of receivers and stored responses. Pure.
 */
import { hash } from 'node:crypto'
import type { PersonFindings } from '../../declare/resources/personal-data.ts'
import { composeText } from '../../kernel/compose.ts'
import type { RowId } from '../../kernel/row-id.ts'
import type { Value } from '../../platform/storage/database.ts'
import type { PersonTrace } from '../../platform/storage/table.ts'

/** A shorter text occurs in the data of others. */
const LENGTH_MIN = 4
/** A shorter text that is no sign-in name, or number, may be that of others. */
const IDENTIFYING_LENGTH = 10
/** A short number, or text of digits, is also a year, an hour or a count in the data of others. */
const lengthMinOf = (value: unknown) =>
  typeof value === 'number' || /^\d+$/.test(String(value)) ? IDENTIFYING_LENGTH : LENGTH_MIN
/** The input of a job bounds both (64 KiB). */
const LENGTH_MAX = 80
const VALUES_MAX = 150
/** Rows that were deleted for good, by a hash of table and id; they have the rest of the input. */
const FORMER_ROWS_MAX = 1_000
const ROW_HASH_CHARACTERS = 12

/** The values as the input of a job stores them. */
export interface StoredPersonValues {
  /** Folded sign-in names, former ones included. */
  readonly names: readonly string[]
  /** Other folded values. */
  readonly others: readonly string[]
  /** Hashes of rows of the person that were deleted for good. */
  readonly formerRows: readonly string[]
}

const fold = (text: string): string => composeText(text).toLowerCase()

/** Returns the stored part of a value: folded, without half of a surrogate pair at its end. */
const partOf = (text: string): string =>
  fold(text.slice(0, 2 * LENGTH_MAX))
    .slice(0, LENGTH_MAX)
    .replace(/[\ud800-\udbff]$/, '')

/** Whether a stored part may be the beginning of a longer value. */
const isBeginning = (part: string): boolean => part.length >= LENGTH_MAX - 1

/** Returns the text, and what its percent-encoding means. */
function readingsOf(text: string): string[] {
  const folded = fold(text)
  if (!/[%+]/.test(folded)) return [folded]
  const decode = (bytes: string) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString()
  const decoded = folded.replaceAll('+', ' ').replace(/(?:%[0-9a-f]{2})+/g, decode)
  return [folded, fold(decoded)]
}

const rowHash = (table: string, id: RowId): string =>
  hash('sha256', JSON.stringify([table, id]), 'base64url').slice(0, ROW_HASH_CHARACTERS)

export class PersonValues implements PersonTrace, PersonFindings {
  readonly id: string
  readonly resource: string
  readonly #names: Set<string>
  readonly #others: Set<string>
  readonly #formerRows: Set<string>

  constructor(
    { id, resource }: Pick<PersonTrace, 'id' | 'resource'>,
    { names, others, formerRows }: StoredPersonValues = { names: [], others: [], formerRows: [] },
  ) {
    this.id = id
    this.resource = resource
    this.#names = new Set(names)
    this.#others = new Set(others)
    this.#formerRows = new Set(formerRows)
  }

  /** Adds a text or number, or those in an array or object. */
  add(kind: 'name' | 'other', value: unknown): void {
    if (typeof value === 'object' && value !== null) {
      for (const inner of Object.values(value)) this.add(kind, inner)
    }
    const text = typeof value === 'number' ? JSON.stringify(value) : value
    const lengthMin = kind === 'name' ? LENGTH_MIN : lengthMinOf(value)
    if (typeof text !== 'string' || text.length < lengthMin) return
    if (this.#names.size + this.#others.size >= VALUES_MAX) return
    const set = kind === 'name' ? this.#names : this.#others
    set.add(partOf(text))
  }

  hasFormerRow(table: string, id: RowId): boolean {
    return this.#formerRows.size > 0 && this.#formerRows.has(rowHash(table, id))
  }

  noteFormerRow(table: string, id: RowId, isOwned: boolean): void {
    if (!isOwned) this.#formerRows.delete(rowHash(table, id))
    else if (this.#formerRows.size < FORMER_ROWS_MAX) this.#formerRows.add(rowHash(table, id))
  }

  names(...texts: readonly (Value | undefined)[]): boolean {
    return contains(texts, [...this.#names])
  }

  mentions(...texts: readonly (Value | undefined)[]): boolean {
    return contains(texts, [...this.#names, ...this.#others])
  }

  identifies(text: string): boolean {
    const long = [...this.#others].filter((value) => value.length >= IDENTIFYING_LENGTH)
    return contains([text], [...this.#names, ...long])
  }

  isNamedIn(json: Value | undefined): boolean {
    if (typeof json !== 'string' || !contains([json], [...this.#names])) return false
    return textsOf(JSON.parse(json)).some((text) => this.isName(text))
  }

  isName(text: Value | undefined): boolean {
    return typeof text === 'string' && this.#names.has(partOf(text))
  }

  isSearchedBy(url: Value | undefined): boolean {
    const [, query = ''] = String(url).split('?', 2)
    const searched = query.split('&').flatMap((part) => readingsOf(part.split('=', 2)[1] ?? ''))
    const values = [...this.#names, ...this.#others]
    return searched.some(
      (part) =>
        part.length >= LENGTH_MIN &&
        values.some((value) => 2 * part.length >= value.length && value.includes(part)),
    )
  }

  /** Whether a text or number is one of the values. */
  is(value: string | number): boolean {
    const part = partOf(String(value))
    if (typeof value === 'number' && part.length < IDENTIFYING_LENGTH) return false
    return this.#names.has(part) || this.#others.has(part)
  }

  stored(): StoredPersonValues {
    return {
      names: [...this.#names],
      others: [...this.#others],
      formerRows: [...this.#formerRows],
    }
  }
}

/** Returns whether a text contains a value, as it is or as JSON has it. */
function contains(texts: readonly (Value | undefined)[], values: readonly string[]): boolean {
  const needles = values.flatMap((value) => [value, JSON.stringify(value).slice(1, -1)])
  return texts.some(
    (text) =>
      typeof text === 'string' &&
      readingsOf(text).some((reading) => needles.some((needle) => hasWords(reading, needle))),
  )
}

const IS_WORD = /[\p{L}\p{N}]/u

/** Whether a text contains a value, or its beginning, that is no part of a longer word. */
function hasWords(text: string, words: string): boolean {
  for (let at = text.indexOf(words); at !== -1; at = text.indexOf(words, at + 1)) {
    const [before = '', after = ''] = [text[at - 1], text[at + words.length]]
    const isEnd = isBeginning(words) || !IS_WORD.test(after)
    if (!IS_WORD.test(before) && isEnd) return true
  }
  return false
}

/** Returns the texts in a JSON value. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}
