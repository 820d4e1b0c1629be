/**
 * Pages by bytes: callers size the texts of rows, so that a number of rows bounds no memory. A
 * reader selects the keys and the bytes of rows first, and then the rows that fit.
 */
import type { DatabaseName } from './expressions.ts'

/** Bytes of the values of a page; a single larger row is a page of its own. */
export const PAGE_BYTES = 2 * 1024 * 1024

export interface SizedColumn {
  /** SQL. */
  readonly name: string
  /** A kind of `Dialect.types`; others have no bytes that callers size. */
  readonly type: string
}

/** Returns SQL of the bytes of a row. Databases store the bytes of a value beside it. */
export function bytesOf(columns: readonly SizedColumn[]): Record<DatabaseName, string> {
  const sized = columns.filter(({ type }) => type === 'text' || type === 'bytes')
  const sum = (terms: readonly string[]) =>
    ['0', ...terms.map((term) => `coalesce(octet_length(${term}), 0)`)].join(' + ')
  return {
    sqlite: sum(sized.map(({ name }) => name)),
    // Tables of a team have types without this function, as text to the engine.
    postgres: sum(
      sized.map(({ name, type }) => (type === 'text' ? `CAST(${name} AS text)` : name)),
    ),
  }
}

/** Returns how many of the first rows fit into a page: at least one, if there is any. */
export function countFitting(sizes: readonly number[]): number {
  let sum = 0
  const cut = sizes.findIndex((bytes, at) => (sum += bytes) > PAGE_BYTES && at > 0)
  return cut === -1 ? sizes.length : cut
}
