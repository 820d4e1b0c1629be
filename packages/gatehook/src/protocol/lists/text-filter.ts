/**
 * The filters `name[prefix]=` and `name[contains]=` over declared texts (§7.7). Case counts, except
 * in e-mail addresses; `%`, `_` and `\` are characters like others. Pure.
 */
import { foldName } from '../fields/folding.ts'
import { parameterFailure } from '../http/query.ts'
import type { Collection, View } from './collection.ts'
import { columnNamed, type Filter } from './filter.ts'

/** Maximum length of the text of one filter. */
export const TEXT_MAX_CHARACTERS = 200

const TEXT_FILTER = /^([a-z0-9_]+)\[(prefix|contains)\]$/

/**
 * Parses a filter by the beginning or a part of a text. Returns undefined for any other parameter,
 * and for a field without this filter. Throws `invalid_parameter`.
 */
export function readTextFilter(
  parameter: string,
  text: string,
  collection: Collection,
  view: View,
): Filter[] | undefined {
  const [, name = '', kind] = TEXT_FILTER.exec(parameter) ?? []
  const column = columnNamed(name, view)
  const columns = kind === 'prefix' ? collection.prefix : collection.contains
  if (kind === undefined || column === undefined || !columns?.includes(column)) return undefined
  if (text === '' || text.length > TEXT_MAX_CHARACTERS) {
    const problem = `must have 1 to ${TEXT_MAX_CHARACTERS} characters`
    throw parameterFailure('invalid_parameter', parameter, problem)
  }
  const isFolded = collection.columns.some(({ name, folded }) => name === column && folded)
  const compared = isFolded ? foldName(text) : text
  if (kind === 'contains') return [{ column, operator: 'holds', values: [compared], parameter }]
  const bounds: Filter[] = [{ column, operator: 'gte', values: [compared], parameter }]
  const end = textAfter(compared)
  if (end !== undefined) bounds.push({ column, operator: 'lt', values: [end], parameter })
  return bounds
}

const LAST_CODE_POINT = 0x10_ff_ff
const LAST_BEFORE_SURROGATES = 0xd7_ff
const FIRST_AFTER_SURROGATES = 0xe0_00

/**
 * Returns the first text, in the order of bytes, after all texts that begin with `prefix`;
 * undefined if there is none. UTF-8 orders texts by code points.
 */
export function textAfter(prefix: string): string | undefined {
  const points = [...prefix].map((character) => character.codePointAt(0)!)
  while (points.at(-1) === LAST_CODE_POINT) points.pop()
  const last = points.pop()
  if (last === undefined) return undefined
  const next = last === LAST_BEFORE_SURROGATES ? FIRST_AFTER_SURROGATES : last + 1
  return String.fromCodePoint(...points, next)
}
