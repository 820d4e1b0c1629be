/**
 * The parameters `from` and `to` of lists without an index on time. Ids begin with their time;
 * numbers of rows follow time, so that a binary search finds the first one.
 */

import { lowestIdAt } from '../../kernel/id.ts'
import type { Reader } from '../../platform/storage/database.ts'
import { raw, sql } from '../../platform/storage/sql.ts'
import { b, type ValuesOf } from '../../protocol/fields/members.ts'
import type { Filter } from '../../protocol/lists/filter.ts'

/** The query parameters. */
export const TIME_RANGE = {
  from: b.instant().optional().describe('The first instant of the period.'),
  to: b.instant().optional().describe('The end of the period.'),
}

type TimeRange = Partial<ValuesOf<typeof TIME_RANGE>>

const OPERATORS = { from: 'gte', to: 'lt' } as const

const boundsOf = (range: TimeRange) =>
  (['from', 'to'] as const).flatMap((name) => {
    const at = range[name]
    return at === undefined ? [] : [{ operator: OPERATORS[name], at: Math.max(0, at) }]
  })

/** Returns the filters of ids with a prefix. */
export const idFilters = (prefix: string, range: TimeRange): readonly Filter[] =>
  boundsOf(range).map(({ operator, at }) => ({
    column: 'id',
    operator,
    values: [lowestIdAt(prefix, at)],
  }))

/** A table whose numbers follow time; `at` is SQL for a row's epoch milliseconds. */
interface NumberedTable {
  readonly table: string
  readonly number: string
  readonly at: string
}

/** Returns the filters of numbers. */
export async function findNumberAt(
  from: Reader,
  range: TimeRange,
  table: NumberedTable,
): Promise<readonly Filter[]> {
  const filters: Filter[] = []
  for (const { operator, at } of boundsOf(range)) {
    const value = await searchNumber(from, table, at)
    filters.push({ column: table.number, operator, values: [value] })
  }
  return filters
}

/** Returns the first number whose row was created at or after an instant. */
async function searchNumber(
  from: Reader,
  { table, number, at: time }: NumberedTable,
  at: number,
): Promise<number> {
  const [name, column, instant] = [raw(table), raw(number), raw(time)]
  const bounds = (await from.get(
    sql`SELECT MIN(${column}) AS low, MAX(${column}) AS high FROM ${name}`,
  ))!
  let low = Number(bounds.low ?? 0)
  let high = Number(bounds.high ?? 0) + 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const row = await from.get<{ number: number; at: number }>(
      sql`SELECT ${column} AS number, ${instant} AS at FROM ${name}
        WHERE ${column} >= ${middle} ORDER BY ${column} LIMIT 1`,
    )
    if (!row || Number(row.at) >= at) high = middle
    else low = Number(row.number) + 1
  }
  return low
}
