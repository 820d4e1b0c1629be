/**
 * The values of a person that an erasure searches for where no member names their owner: in logs,
 * mail, responses of receivers and stored responses. Pure.
 */
import { hash } from 'node:crypto'
import type { PersonFindings } from '../../declare/resources/personal-data.ts'
import { textsOf } from '../../declare/resources/personal-fields.ts'
import { composeText } from '../../kernel/compose.ts'
import type { RowId } from '../../kernel/row-id.ts'
import type { Value } from '../../platform/storage/database.ts'
import type { PersonTrace } from '../../platform/storage/table.ts'
import { Needles, unitsOf } from './needles.ts'
import { NO_PART, type StoredValuePart, ValuePart } from './value-part.ts'

interface ValueUse {
  readonly charactersMin: number
  /** The least characters of a number, or a text of digits. */
  readonly digitsMin: number
  readonly isNoWord?: boolean
}

/**
 * Where a value counts: a customer chooses the values of its persons, so that the data of others
 * must not have it as a word, the name of a place, or a year. An address is none of these.
 */
const USES = {
  /** In logs of the customer, as words. */
  logs: { charactersMin: 4, digitsMin: 10 },
  /** Sign-in names, in its mail. */
  mail: { charactersMin: 10, digitsMin: 10 },
  /** In its stored responses and those of receivers, as words: no word of an interface. */
  responses: { charactersMin: 10, digitsMin: 10, isNoWord: true },
  /** In rows of others, as a whole member: no id, no instant and no word of an interface. */
  rowsOfOthers: { charactersMin: 10, digitsMin: 10, isNoWord: true },
} as const satisfies Readonly<Record<string, ValueUse>>

/** Fewer digits in a word are a version. */
const DIGITS_OF_NO_WORD = 3
/** The characters of an id of the engine, and of a day or an instant: they identify no person. */
const ID = /^[0-9a-z_]+$/i
const ID_CHARACTERS_MIN = 20
const INSTANT = /^\d{4}-\d\d-\d\d[tz\d:.+ -]*$/i
const identifiesNoPerson = (text: string): boolean =>
  INSTANT.test(text) || (text.length >= ID_CHARACTERS_MIN && text.includes('_') && ID.test(text))

const isNoWord = (text: string): boolean =>
  !identifiesNoPerson(text) &&
  (/[\s\u0080-\uffff]/.test(text) || text.replace(/\D/g, '').length >= DIGITS_OF_NO_WORD)

function countsIn(use: keyof typeof USES, value: string | number): boolean {
  const { charactersMin, digitsMin, isNoWord: mustBeNoWord }: ValueUse = USES[use]
  const text = String(value)
  if (isAddress(text)) return text.length >= USES.logs.charactersMin
  const isNumber = typeof value === 'number' || /^\d+$/.test(text)
  if (text.length < (isNumber ? digitsMin : charactersMin)) return false
  return !mustBeNoWord || isNoWord(text)
}

/** The input of a job has the values of a part. */
const LENGTH_MAX = 80
/** Values of a part: sign-in names, former ones included, and others. */
const NAMES_MAX = 100
const OTHERS_MAX = 150
/** Parts of an erasure: it searches for at most 4,000 names and 6,000 other values. */
const PARTS_MAX = 40
/** Rows that were deleted for good, by a hash of table and id; they have the rest of the input. */
const FORMER_ROWS_MAX = 1_000
const ROW_HASH_CHARACTERS = 12

/** The values as the input of a job stores them. */
export interface StoredPersonValues {
  /** From 0. */
  readonly part: number
  /** Folded sign-in names, former ones included. */
  readonly names: StoredValuePart
  /** Other folded values. */
  readonly others: StoredValuePart
  /** Hashes of rows of the person that were deleted for good. */
  readonly formerRows: readonly string[]
}

const NO_VALUES: StoredPersonValues = {
  part: 0,
  names: NO_PART,
  others: NO_PART,
  formerRows: [],
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
  #part: number
  #names: ValuePart
  #others: ValuePart
  readonly #formerRows: Set<string>
  readonly #ofOthers = new Set<string>()
  /** The searches for the values, until one is added. */
  readonly #searches = new Map<'names' | 'mentions' | 'identifies', ValueSearch>()

  constructor(
    { id, resource }: Pick<PersonTrace, 'id' | 'resource'>,
    { part, names, others, formerRows }: StoredPersonValues = NO_VALUES,
  ) {
    this.id = id
    this.resource = resource
    this.#part = part
    this.#names = new ValuePart(NAMES_MAX, names)
    this.#others = new ValuePart(OTHERS_MAX, others)
    this.#formerRows = new Set(formerRows)
  }

  /** The number of values that later parts search for, and none does after the last. */
  get left(): number {
    return this.#names.left + this.#others.left
  }

  /** Whether this part is followed by another one. */
  get hasNextPart(): boolean {
    return this.left > 0 && this.#part + 1 < PARTS_MAX
  }

  /** Continues with the next part, whose values are to be collected. */
  beginNextPart(): void {
    this.#part += 1
    this.#names = this.#names.next()
    this.#others = this.#others.next()
    this.#searches.clear()
  }

  /** Adds a text or number, or those in an array or object. */
  add(kind: 'name' | 'other', value: unknown): void {
    if (typeof value === 'object' && value !== null) {
      for (const inner of Object.values(value)) this.add(kind, inner)
    }
    if (typeof value !== 'string' && typeof value !== 'number') return
    const text = String(value)
    const isLong = kind === 'name' && text.length >= USES.logs.charactersMin
    if (!isLong && !countsIn('logs', value)) return
    const values = kind === 'name' ? this.#names : this.#others
    if (values.add(partOf(text))) this.#searches.clear()
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
    const [names, others] = [this.#names.values(), this.#others.values()]
    if (kind === 'mentions') return [...names, ...others]
    const use = kind === 'names' ? 'mail' : 'responses'
    const exactNames = names.map((name) => (countsIn(use, name) ? name : asWholeText(name)))
    return kind === 'names'
      ? exactNames
      : [...exactNames, ...others.filter((value) => countsIn(use, value))]
  }

  isAddressIn(json: Value | undefined): boolean {
    if (typeof json !== 'string' || !this.names(json)) return false
    return textsOf(JSON.parse(json)).some((text) => isAddress(text) && this.isName(text))
  }

  isName(text: Value | undefined): boolean {
    return typeof text === 'string' && this.#names.has(partOf(text))
  }

  /** Whether a member is, as a whole, an address by which this person alone signs in, or did. */
  isMemberOf(object: unknown): boolean {
    return textsOf(object).some(
      (text) => isAddress(text) && this.isName(text) && !this.#ofOthers.has(partOf(text)),
    )
  }

  isSearchedBy(url: Value | undefined): boolean {
    const [, query = ''] = String(url).split('?', 2)
    const parts = new Set(query.split('&').map((part) => fold(part.split('=', 2)[1] ?? '')))
    const searched = [...parts].flatMap((part) => readingsOf(part))
    const values = [...this.#names.values(), ...this.#others.values()]
    const isPart = (part: string) =>
      part.length >= USES.logs.charactersMin &&
      values.some((value) => 2 * part.length >= value.length && value.includes(part))
    return searched.some(isPart) || this.mentions(...searched)
  }

  /** Whether a text or number is one of the values. */
  is(value: string | number): boolean {
    const text = String(value)
    if (typeof value === 'number' && !countsIn('logs', value)) return false
    const part = partOf(text)
    return this.#names.has(part) || this.#others.has(part)
  }

  isDistinct(value: string | number): boolean {
    if (!countsIn('rowsOfOthers', String(value)) || !this.is(value)) return false
    return !this.#ofOthers.has(partOf(String(value)))
  }

  /** The addresses among the values. */
  addresses(): string[] {
    return [...this.#names.values(), ...this.#others.values()].filter(isAddress)
  }

  /** Notes addresses that others have, too: rows of others with them are not of this person. */
  noteOthers(addresses: readonly string[]): void {
    for (const address of addresses) this.#ofOthers.add(partOf(address))
  }

  stored(): StoredPersonValues {
    return {
      part: this.#part,
      names: this.#names.stored(),
      others: this.#others.stored(),
      formerRows: [...this.#formerRows],
    }
  }
}
