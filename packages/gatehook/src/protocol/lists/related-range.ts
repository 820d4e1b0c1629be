/**
 * A filter by another field of the row whose field sorts, `user.name=…&sort=user.email` (§15.9):
 * the index of that filter selects the rows of the other table, which are sorted in memory.
 */
import type { Reader } from '../../platform/storage/database.ts'
import { raw, type Sql, sql } from '../../platform/storage/sql.ts'
import type { RelatedColumn } from './collection.ts'
import { bind, countOf } from './examined-rows.ts'
import { operatorRows } from './filter.ts'
import { conditionOf } from './page-query.ts'
import { rowsOfStep } from './related.ts'
import { columnOf, isEqual, type Walk } from './walk.ts'

/** Operators that select one range of an index, besides equality. */
const RANGE: ReadonlySet<string> = new Set(
  operatorRows.flatMap(([name, { isRange }]) => (isRange ? [name] : [])),
)

const referencesOf = ({ steps }: RelatedColumn): string =>
  steps.map(({ reference }) => reference).join(' ')

/** Returns the position of a filter that selects a range of the rows whose field sorts. */
export function filterBeside(walk: Walk): number | undefined {
  const [key] = walk.sort
  const { related: sorted } = columnOf(walk, key!.column)
  const at = walk.filters.findIndex((filter) => {
    const { related } = columnOf(walk, filter.column) ?? {}
    if (!sorted || !related?.filterOrder || filter.column === key!.column) return false
    const isRange = isEqual(filter) || RANGE.has(filter.operator)
    return isRange && referencesOf(related) === referencesOf(sorted)
  })
  return at < 0 ? undefined : at
}

/** Returns 1 for a row of the other table that the filter selects, or 0; without it always 1. */
export function matchBeside(walk: Walk): Sql {
  const at = filterBeside(walk)
  if (at === undefined) return raw('1')
  const { compared } = columnOf(walk, walk.filters[at]!.column).related!
  return sql`CASE WHEN ${conditionOf(walk, at, raw(compared))} THEN 1 ELSE 0 END`
}

export interface RangeBeside {
  /** The query for its rows. */
  readonly query: Sql
  readonly rows: number
}

/** Counts the range, and returns it if it has at most `most` rows. */
export async function findRangeBeside(
  reader: Reader,
  walk: Walk,
  most: number,
): Promise<RangeBeside | undefined> {
  const at = filterBeside(walk)
  if (at === undefined) return undefined
  const { related } = columnOf(walk, walk.filters[at]!.column)
  const { column, compared } = columnOf(walk, walk.sort[0]!.column).related!
  const condition = conditionOf(walk, at, raw(related!.compared))
  const from = rowsOfStep(walk, related!.steps.at(-1)!, condition)
  const select = (columns: readonly string[], limit: number): Sql =>
    sql`SELECT ${raw([...new Set(columns)].join(', '))} ${from}
      ORDER BY ${raw(`${related!.filterOrder} LIMIT ${limit}`)}`
  const rows = await countOf(reader, bind(select(['id'], most + 1), walk))
  return rows > most ? undefined : { query: select(['id', column, compared], rows), rows }
}
