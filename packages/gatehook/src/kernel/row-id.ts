/**
 * The ids of rows: integers, or texts with a declared prefix, `bk_0VhKq3ZrT4mXw9sLd2fGhJ`. Texts
 * have the form of all ids of the platform (`id.ts`): their order by bytes is time order. Pure.
 */
import { encodeBase62 } from './base62.ts'
import { TIME_ORDERED_CHARACTERS as CHARACTERS, createTimeOrderedId } from './id.ts'
import type { Random } from './random.ts'

export type RowId = number | string

/** The form of prefixes that a declaration can choose. */
const PREFIX = /^[a-z][a-z0-9]{0,7}$/

/** The prefixes of the platform's own ids and secrets. */
export const PLATFORM_PREFIXES: ReadonlySet<string> = new Set([
  ...'aud client cus dlv evt iss job key lnk mail op plk psk pss req rul ses tok wh'.split(' '),
  ...'gh gk grt gs id whsec'.split(' '),
])

/** Returns the rest of a sentence about a prefix that no row can have. */
export function prefixMistake(prefix: unknown): string | undefined {
  if (typeof prefix !== 'string' || !PREFIX.test(prefix)) {
    return 'is no prefix of ids: 1 to 8 of a-z and 0-9, a letter first'
  }
  return PLATFORM_PREFIXES.has(prefix)
    ? `is a prefix of ids of the platform, as are ${[...PLATFORM_PREFIXES].join(', ')}`
    : undefined
}

export const createRowId = (prefix: string, nowMs: number, random: Random): string =>
  createTimeOrderedId(`${prefix}_`, nowMs, random)

/** Returns the id before all others: rows after it are all rows, as after the integer 0. */
export const lowestRowId = (prefix: string): string => `${prefix}_${encodeBase62(0, CHARACTERS)}`

/** Returns the regular expression of ids with the prefix, for documents. */
export const rowIdPattern = (prefix: string): string => `^${prefix}_[0-9A-Za-z]{${CHARACTERS}}$`

/** An id for examples. */
export const sampleRowId = (prefix: string): string => `${prefix}_0VhKq3ZrT4mXw9sLd2fGhJ`

const CHARACTERS_ONLY = /^[0-9A-Za-z]+$/

/** Returns whether a text has the form of an id with the prefix. */
export const isPrefixedId = (prefix: string, text: string): boolean =>
  text.length === prefix.length + 1 + CHARACTERS &&
  text.startsWith(`${prefix}_`) &&
  CHARACTERS_ONLY.test(text.slice(prefix.length + 1))

/** The form of an id in words, with which a message continues: `must be …`. */
export const idWords = (prefix: string): string => `an id that begins with ${prefix}_`

/**
 * Parses the id of a path: `1`, `2`, …, or a text with the prefix. Returns undefined for a text
 * that is the id of no row.
 */
export function parseRowId(prefix: string | undefined, text: string): RowId | undefined {
  if (prefix !== undefined) return isPrefixedId(prefix, text) ? text : undefined
  const number = /^[1-9][0-9]{0,15}$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(number) ? number : undefined
}

/** Returns whether a value of own code is the id of a row, by the kind of its resource. */
export const isRowId = (prefix: string | undefined, id: unknown): id is RowId =>
  prefix === undefined
    ? Number.isSafeInteger(id) && (id as number) >= 1
    : typeof id === 'string' && isPrefixedId(prefix, id)
