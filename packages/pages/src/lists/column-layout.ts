/** The order of declared columns in a page, and the width at which each leaves. Pure. */
import type { RowColumn } from './row-column.ts'
import { capitalized } from './row-value.ts'

/** The priorities of the first columns that can leave; others leave at 1600 px. */
const PRIORITIES: readonly (2 | 3 | 4)[] = [2, 2, 3, 3, 4, 4, 4]
/** The columns that a narrow window has under the name. */
export const UNDER_NAME = 2

/** Returns the priority of a column: the first one leaves last. */
export const priorityOf = (rank: number): 2 | 3 | 4 | 5 => PRIORITIES[rank] ?? 5

interface PlacedColumn extends RowColumn {
  readonly label: string
  readonly priority?: 2 | 3 | 4 | 5
  readonly align?: 'end'
  readonly isMain?: boolean
  readonly class?: string
}

interface ColumnLayout {
  readonly columns: readonly PlacedColumn[]
  /** The column that names a row. */
  readonly name: RowColumn | undefined
  /** The columns whose values need no header, so that they can be under the name. */
  readonly under: readonly RowColumn[]
}

const isAmount = ({ as }: RowColumn): boolean =>
  /^(number|percent|count|duration|age)$/.test(as ?? '')
const isTime = ({ as }: RowColumn): boolean => as === 'time' || as === 'seconds'
/** Whether the text names a row. */
const isName = ({ as, states }: RowColumn): boolean =>
  !states && (as === undefined || as === 'code' || as === 'url')

const isState = ({ as, states }: RowColumn): boolean => states !== undefined || as === 'status'

const classOf = (column: RowColumn): string | undefined => {
  if (isTime(column)) return 'faint nowrap'
  return column.as === 'list' || column.isWide ? undefined : 'nowrap'
}

/** Returns the columns without the omitted ones, ids last. Name, state and status never leave. */
export function layoutOf(declared: readonly RowColumn[], omit: readonly string[]): ColumnLayout {
  const listed = declared
    .filter(({ name }) => !omit.includes(name))
    .toSorted((a, b) => Number(a.as === 'id') - Number(b.as === 'id'))
  const name = listed.find(isName)
  const main = listed.find(({ isWide }) => isWide) ?? name
  const leaving = listed.filter((column) => column !== name && !isState(column))
  const columns = listed.map((column): PlacedColumn => {
    const rank = leaving.indexOf(column)
    const style = classOf(column)
    return {
      ...column,
      label: capitalized(isTime(column) ? `${column.title} (UTC)` : column.title),
      ...(rank >= 0 && { priority: priorityOf(rank) }),
      ...(isAmount(column) && { align: 'end' as const }),
      ...(column === main ? { isMain: true } : style && { class: style }),
    }
  })
  const under = leaving.filter((column) => !isAmount(column) && column.as !== 'rate')
  return { columns, name, under }
}
