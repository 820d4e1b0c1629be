/**
 * Reads a page of `q` in the order of the id from the entries of one term (§7.12). Its other terms
 * and the filters are look-ups of each entry, of a bounded number of entries.
 */
import type { Reader } from '../../platform/storage/database.ts'
import { empty, join, raw, type Sql, sql } from '../../platform/storage/sql.ts'
import type { Key } from './cursor.ts'
import { bind, countOf, readQuery } from './examined-rows.ts'
import {
  afterAnchor,
  aliasOf,
  collectionConditions,
  filterCondition,
  sourceOf,
} from './page-query.ts'
import { canMerge, mergedWords, termConditions, wordsOfTerm } from './term-query.ts'
import { idOf, type Walk } from './walk.ts'

/** The entries of a term, in the order of the id. */
export interface OrderedEntries {
  /** The position in `walk.terms`. */
  readonly term: number
  readonly words: readonly string[]
}

/** Whether the entries of a term can have the order of the list. */
export const canReadEntries = ({ terms, sort, owner }: Walk): boolean =>
  terms.length > 0 && sort.length === 1 && owner === undefined

/** Returns the first of the terms with few distinct words; undefined if there is none. */
export async function findOrderedEntries(
  reader: Reader,
  walk: Walk,
  terms: readonly number[],
): Promise<OrderedEntries | undefined> {
  for (const term of terms) {
    const rows = await readQuery(reader, wordsOfTerm(walk, term))
    const words = rows.map(([word]) => String(word))
    if (canMerge(words)) return { term, words }
  }
  return undefined
}

/** Reads the keys of the page. Undefined if `most` rows of the entries are not sufficient. */
export async function readEntryKeys(
  reader: Reader,
  walk: Walk,
  { term, words }: OrderedEntries,
  most: number,
): Promise<Key[][] | undefined> {
  if (words.length === 0) return []
  const anchor = afterAnchor(walk)
  const position = anchor === empty ? undefined : bind(anchor, walk)
  const merged = mergedWords(walk, { at: term, words, position, most })
  const conditions = join([rowCondition(walk), ...termConditions(walk, term)], ' AND ')
  const offset = walk.skip > 0 ? sql` OFFSET ${walk.skip} + 0` : empty
  const keys = await readQuery(
    reader,
    sql`SELECT id FROM (${merged.ids}) AS examined WHERE ${conditions}
      LIMIT ${walk.limit} + 0${offset}`,
  )
  if (keys.length === walk.limit) return keys as Key[][]
  const isWhole =
    (await countOf(reader, merged.entries)) < merged.most &&
    (await countOf(reader, merged.ids)) < most
  return isWhole ? (keys as Key[][]) : undefined
}

/** Returns the condition that the row of an entry exists and fulfils the filters. */
function rowCondition(walk: Walk): Sql {
  const { collection, filters } = walk
  const conditions = [
    ...collectionConditions(walk),
    ...filters.map((_, at) => filterCondition(walk, at, aliasOf(walk))),
    ...(collection.visible ? [raw(collection.visible.condition)] : []),
    sql`${raw(idOf(collection))} = examined.id`,
  ]
  const rows = sql`SELECT 1 FROM ${sourceOf(walk)} WHERE ${join(conditions, ' AND ')} LIMIT 1`
  return sql`(${bind(rows, walk)}) = 1`
}
