/**
 * `?q=`: rows with words that begin with each of the requested ones (§7.12). Pure; `term-query.ts`
 * has the SQL.
 */
import { parameterFailure, type Query } from '../http/query.ts'
import type { Collection } from './collection.ts'
import { requestedWords } from './search-words.ts'
import { textAfter } from './text-filter.ts'

/** The words from `first` to before `end`. */
export interface SearchTerm {
  readonly first: string
  readonly end: string
}

export const SEARCH = 'q'
export const SEARCH_MAX_CHARACTERS = 200
const TERMS_MAX = 10

const invalid = (problem: string) => parameterFailure('invalid_parameter', SEARCH, problem)

/**
 * Returns the terms of a request; empty without `q`. A text without words has one term without
 * words, so that no row matches. Throws `invalid_parameter`.
 */
export function readSearchTerms(
  query: Query,
  { wordTable, wordPrefix = '' }: Pick<Collection, 'wordTable' | 'wordPrefix'>,
): SearchTerm[] {
  const text = wordTable === undefined ? undefined : query.get(SEARCH)
  if (text === undefined) return []
  if (text === '' || text.length > SEARCH_MAX_CHARACTERS) {
    throw invalid(`must have 1 to ${SEARCH_MAX_CHARACTERS} characters`)
  }
  const words = requestedWords(text)
  if (words.length > TERMS_MAX) throw invalid(`has more than ${TERMS_MAX} words`)
  if (words.length === 0) return [{ first: '', end: '' }]
  return words.map((word) => {
    const first = wordPrefix + word
    return { first, end: textAfter(first) ?? first }
  })
}
