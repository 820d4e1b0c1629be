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
import { Needles, unitsOf } from './needles.ts'

/** A shorter text occurs in the data of others. */
const LENGTH_MIN = 4
/** A shorter text that is no address may be that of others: a word, or the name of a place. */
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

/** Returns a folded text, and what its percent-encoding means. */
function readingsOf(folded: string, plus: ' ' | '+' = ' '): string[] {
  if (!/[%+]/.test(folded)) return [folded]
  const decode = (bytes: string) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString()
  const decoded = folded.replaceAll('+', plus).replace(/(?:%[0-9a-f]{2})+/g, decode)
  return decoded === folded ? [folded] : [folded, fold(decoded)]
}

const rowHash = (table: string, id: RowId): string =>
  hash('sha256', JSON.stringify([table, id]), 'base64url').slice(0, ROW_HASH_CHARACTERS)

const isWord = unitsOf(/[\p{L}\p{N}]/u)
/** Characters that join the words of an address. */
const JOINTS = ".'_+-"
const isAddressPart = (unit: number) => isWord(unit) || JOINTS.includes(String.fromCharCode(unit))

/** Returns a text in which each joint is between two words: no sentence's end, and no quotation. */
const withoutLooseJoints = (text: string): string =>
  text.replace(/[.'_+-]+/g, (run, at: number) => {
    const isInner = at > 0 && isWord(text.charCodeAt(at - 1))
    return isInner && isWord(text.charCodeAt(at + run.length)) ? run : ' '
  })

const isAddress = (value: string): boolean => value.includes('@')

/** Whether a text that contains the value concerns its person. */
const isIdentifying = (value: string): boolean =>
  value.length >= IDENTIFYING_LENGTH || isAddress(value)

/**
 * Whether no word of an interface equals the value: `order.created`, `/api/v2/users`,
 * `application/json`, whatever values a customer chooses for its persons.
 */
const isDistinctive = (value: string): boolean =>
  isAddress(value) ||
  (value.length >= IDENTIFYING_LENGTH &&
    (/[\s\u0080-\uffff]/.test(value) || value.replace(/\D/g, '').length >= DIGITS_MIN))
/** Fewer digits are a version. */
const DIGITS_MIN = 3

/** The value as the whole text of a member. */
const asWholeText = (value: string): string => JSON.stringify(value)

/** The search for values in texts. An address is no part of a longer one. */
export class ValueSearch {
  readonly #words: Needles
  readonly #addresses: Needles

  constructor(values: readonly string[]) {
    const needlesOf = (some: readonly string[], form = (text: string) => text) =>
      some.flatMap((value) =>
        // As it is, and as JSON has it.
        [value, JSON.stringify(value).slice(1, -1)].map((text) => ({
          text: form(text),
          isBeginning: isBeginning(value),
        })),
      )
    const { words = [], addresses = [] } = Object.groupBy(values, (value) =>
      isAddress(value) ? 'addresses' : 'words',
    )
    const addressForm = (text: string) => withoutLooseJoints(text).trim()
    this.#words = new Needles(needlesOf(words), isWord)
    this.#addresses = new Needles(needlesOf(addresses, addressForm), isAddressPart)
  }

  /** The steps of all searches, whose number is linear in the texts. */
  get steps(): number {
    return this.#words.steps + this.#addresses.steps
  }

  isIn(text: Value | undefined): boolean {
    if (typeof text !== 'string') return false
    const folded = fold(text)
    return (
      readingsOf(folded).some((reading) => this.#words.areIn(reading)) ||
      // A plus joins the words of an address.
      readingsOf(folded, '+').some(
        (reading) => isAddress(reading) && this.#addresses.areIn(withoutLooseJoints(reading)),
      )
    )
  }
}

export class PersonValues implements PersonTrace, PersonFindings {
  readonly id: string
  readonly resource: string
  readonly #names: Set<string>
  readonly #others: Set<string>
  readonly #formerRows: Set<string>
  /** The searches for the values, until one is added. */
  readonly #searches = new Map<'names' | 'mentions' | 'identifies', ValueSearch>()

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
    const part = partOf(text)
    if (set.has(part)) return
    set.add(part)
    this.#searches.clear()
  }

  hasFormerRow(table: string, id: RowId): boolean {
    return this.#formerRows.size > 0 && this.#formerRows.has(rowHash(table, id))
  }

  noteFormerRow(table: string, id: RowId, isOwned: boolean): void {
    if (!isOwned) this.#formerRows.delete(rowHash(table, id))
    else if (this.#formerRows.size < FORMER_ROWS_MAX) this.#formerRows.add(rowHash(table, id))
  }

  names(...texts: readonly (Value | undefined)[]): boolean {
    return this.#isOneIn('names', texts)
  }

  mentions(...texts: readonly (Value | undefined)[]): boolean {
    return this.#isOneIn('mentions', texts)
  }

  identifies(text: string): boolean {
    return this.#isOneIn('identifies', [text])
  }

  #isOneIn(kind: 'names' | 'mentions' | 'identifies', texts: readonly (Value | undefined)[]) {
    let search = this.#searches.get(kind)
    if (!search) this.#searches.set(kind, (search = new ValueSearch(this.#searched(kind))))
    return texts.some((text) => search.isIn(text) || (kind !== 'mentions' && this.isName(text)))
  }

  /** Other than in logs, a name that may be a word of others counts as a whole text only. */
  #searched(kind: 'names' | 'mentions' | 'identifies'): string[] {
    const [names, others] = [[...this.#names], [...this.#others]]
    if (kind === 'mentions') return [...names, ...others]
    const exactNames = names.map((name) => (isIdentifying(name) ? name : asWholeText(name)))
    return kind === 'names' ? exactNames : [...exactNames, ...others.filter(isIdentifying)]
  }

  isAddressIn(json: Value | undefined): boolean {
    if (typeof json !== 'string' || !this.names(json)) return false
    return textsOf(JSON.parse(json)).some((text) => isAddress(text) && this.isName(text))
  }

  isName(text: Value | undefined): boolean {
    return typeof text === 'string' && this.#names.has(partOf(text))
  }

  isSearchedBy(url: Value | undefined): boolean {
    const [, query = ''] = String(url).split('?', 2)
    const parts = new Set(query.split('&').map((part) => fold(part.split('=', 2)[1] ?? '')))
    const searched = [...parts].flatMap((part) => readingsOf(part))
    const values = [...this.#names, ...this.#others]
    const isPart = (part: string) =>
      part.length >= LENGTH_MIN &&
      values.some((value) => 2 * part.length >= value.length && value.includes(part))
    return searched.some(isPart) || this.mentions(...searched)
  }

  /** Whether a text or number is one of the values. */
  is(value: string | number): boolean {
    const text = String(value)
    if (typeof value === 'number' && text.length < IDENTIFYING_LENGTH) return false
    const part = partOf(text)
    return this.#names.has(part) || this.#others.has(part)
  }

  isDistinct(value: string | number): boolean {
    return isDistinctive(String(value)) && this.is(value)
  }

  stored(): StoredPersonValues {
    return {
      names: [...this.#names],
      others: [...this.#others],
      formerRows: [...this.#formerRows],
    }
  }
}

/** Returns the texts in a JSON value. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}
