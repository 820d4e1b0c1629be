/**
 * The SQL of `q` (§7.12). The table of words has an entry for each word of a row, in the order of
 * scope, word and id. So the entries of a term are a range of an index, like those of a filter, and
 * the rows of one word are in the order of the id.
 */
import { join, raw, type Sql, sql } from '../../platform/storage/sql.ts'
import { idOf, type Walk } from './walk.ts'

const wordsOf = ({ collection }: Walk): Sql => raw(collection.wordTable!)

/**
 * Returns the query for the ids of at most `most` entries of a term; an id can occur twice. The
 * order lets PostgreSQL read no other index, also before it has statistics of the table.
 */
export function entriesOfTerm(walk: Walk, at: number, most: number): Sql {
  const { first, end } = walk.terms[at]!
  return sql`SELECT id FROM ${wordsOf(walk)} WHERE scope = ${walk.scope}
    AND word >= ${first} AND word < ${end} ORDER BY word, id LIMIT ${raw(String(most))}`
}

/**
 * Returns the conditions that a row of `rows` has a word of each term, except of the term
 * `applied`. Each is one look-up, which no planner turns into a join.
 */
export function termConditions(walk: Walk, applied: number | undefined, rows = 'examined'): Sql[] {
  const id = raw(`${rows}.${idOf(walk.collection)}`)
  return walk.terms
    .filter((_, at) => at !== applied)
    .map(
      ({ first, end }) =>
        sql`(SELECT 1 FROM ${wordsOf(walk)} AS entry WHERE entry.scope = ${walk.scope}
          AND entry.id = ${id} AND entry.word >= ${first} AND entry.word < ${end} LIMIT 1) = 1`,
    )
}

/** Words of one term whose entries are merged. */
const MERGED_WORDS_MAX = 8

/** Returns the query for the distinct words of a term, at most one more than can be merged. */
export function wordsOfTerm(walk: Walk, at: number): Sql {
  const { first, end } = walk.terms[at]!
  const next = (from: Sql) => sql`(SELECT min(word) FROM ${wordsOf(walk)}
    WHERE scope = ${walk.scope} AND ${from} AND word < ${end})`
  return sql`WITH RECURSIVE step(word, place) AS (
    SELECT ${next(sql`word >= ${first}`)}, 1 UNION ALL
    SELECT ${next(sql`word > step.word`)}, place + 1 FROM step
    WHERE step.word IS NOT NULL AND place <= ${raw(String(MERGED_WORDS_MAX))})
    SELECT word FROM step WHERE word IS NOT NULL`
}

export const canMerge = (words: readonly unknown[]): boolean => words.length <= MERGED_WORDS_MAX

/** Entries of merged words. */
export interface MergedWords {
  /** All of them, in the order of the id, up to a bound: a row with several words has several. */
  readonly entries: Sql
  /** The ids of these entries, each once, in the same order. */
  readonly ids: Sql
  /** The bound of `entries`. */
  readonly most: number
}

/**
 * Returns the queries for the rows with one of the words of a term. A row is an entry of each of
 * its words, so the entries have a bound of `most` for each word, those of repeated rows included.
 * `position`: the condition that an id follows the anchor.
 */
export function mergedWords(
  walk: Walk,
  {
    at,
    words,
    position,
    most,
  }: {
    readonly at: number
    readonly words: readonly string[]
    readonly position: Sql | undefined
    readonly most: number
  },
): MergedWords {
  const { first } = walk.terms[at]!
  const isDescending = walk.sort[0]!.descending !== walk.backward
  const ordered = raw(`ORDER BY id${isDescending ? ' DESC' : ''}`)
  // Each part has the order, so that PostgreSQL merges the parts instead of sorting all entries.
  const parts = words.map((word, n) => {
    const after = position ? sql` AND (${position})` : sql``
    const entries = sql`SELECT id, word FROM ${wordsOf(walk)} AS entry
      WHERE scope = ${walk.scope} AND word = ${word}${after} ${ordered}`
    return sql`SELECT id, word FROM (${entries}) AS ${raw(`word${n}`)}`
  })
  const entriesMost = most * words.length
  const entries = sql`SELECT id, word FROM (${join(parts, ' UNION ALL ')}) AS parts
    ${ordered} LIMIT ${raw(String(entriesMost))}`
  // The condition is outside of the bound, which would count the rows that it returns only.
  const isFirst = sql`(SELECT 1 FROM ${wordsOf(walk)} AS earlier
    WHERE earlier.scope = ${walk.scope} AND earlier.id = merged.id
    AND earlier.word >= ${first} AND earlier.word < merged.word LIMIT 1) IS NULL`
  const ids = sql`SELECT id FROM (${entries}) AS merged WHERE ${isFirst} LIMIT ${raw(String(most))}`
  return { entries, ids, most: entriesMost }
}
