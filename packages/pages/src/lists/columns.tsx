/** The columns of a table of objects: which, in which order and how displayed, the engine says. */
import type { ComponentChildren } from 'preact'
import { slowNow } from '../clock.ts'
import { ago, day, duration, listTime, number, percent, period } from '../format.ts'
import { Code, State } from '../parts/state.tsx'
import { type Column, Sub } from '../parts/table.tsx'
import { layoutOf, UNDER_NAME } from './column-layout.ts'
import type { CellDisplay, RowColumn } from './row-column.ts'
import { type ListedObject, rowColumns } from './row-columns.ts'
import { isNone, valueAt, whoText } from './row-value.ts'
import { stateBy } from './state-words.ts'

const Time = ({ at }: { readonly at: string }) => (
  <time dateTime={at}>{listTime(at, slowNow().value)}</time>
)

const codeText = (text: string) => <code class="soft">{text}</code>

interface LastAttempt {
  readonly status: number | null
  readonly error: string | null
}

interface RateJson {
  readonly limit: number
  readonly window_s: number
}

/** How a value is displayed. */
const contents: Readonly<Record<CellDisplay, (value: never) => ComponentChildren>> = {
  id: codeText,
  code: codeText,
  number,
  percent,
  status: (status: number) => <Code status={status} />,
  duration,
  day: (at: string) => <time dateTime={at}>{day(at)}</time>,
  time: (at: string) => <Time at={at} />,
  seconds: (seconds: number) => <Time at={new Date(seconds * 1000).toISOString()} />,
  age: (seconds: number) => period(seconds * 1000),
  ago: (at: string) => ago(at, slowNow().value),
  list: (values: readonly string[]) => <span class="mono soft">{values.join(', ')}</span>,
  count: (values: readonly unknown[]) => number(values.length),
  attempts(attempts: readonly LastAttempt[]) {
    const { status, error } = attempts.at(-1)!
    return status === null ? error : <Code status={status} />
  },
  rate: ({ limit, window_s: windowS }: RateJson) =>
    `${number(limit)} per ${period(windowS * 1000)}`,
  json: (value) => codeText(JSON.stringify(value)),
  truth: (value: boolean) => (value ? 'yes' : 'no'),
  who: whoText,
  customer: String,
  url: (url: string) => url.replace(/^https?:\/\//, ''),
}

export function contentOf(
  { name, as, none = '–', states }: RowColumn,
  row: object,
): ComponentChildren {
  if (states) {
    const [tone, word] = stateBy(states, row)
    return <State tone={tone}>{word}</State>
  }
  const value = valueAt(row, name)
  const content = isNone(value) ? '' : as ? contents[as](value as never) : String(value)
  return content === '' ? <span class="soft">{none}</span> : content
}

/** Additions of a page to the columns of an object. */
export interface ColumnWords<Row> {
  /** Contents by the name of the column, in place of the declared ones; undefined: the declared. */
  readonly cells?: Readonly<Record<string, (row: Row) => ComponentChildren>>
  /** Columns that the page does not have. */
  readonly omit?: readonly string[]
  /** The URL of a row, to which its name links. */
  readonly hrefOf?: (row: Row) => string
  /** Displayed after the name. */
  readonly mark?: (row: Row) => ComponentChildren
}

/** Returns the columns of an object of the API; a narrow page has two of them under the name. */
export function columnsOf<Row extends object>(
  object: ListedObject,
  { cells = {}, omit = [], hrefOf, mark }: ColumnWords<Row> = {},
): readonly Column<Row>[] {
  const { columns, name: nameColumn, under } = layoutOf(rowColumns[object], omit)
  const cellOf = (column: RowColumn, row: Row) =>
    cells[column.name]?.(row) ?? contentOf(column, row)
  const linkOf = (column: RowColumn, row: Row) =>
    hrefOf ? (
      <a class={column.as === 'code' ? 'cover mono' : 'cover'} href={hrefOf(row)}>
        {cells[column.name]?.(row) ??
          contentOf(column.as === 'code' ? { ...column, as: undefined } : column, row)}
      </a>
    ) : (
      cellOf(column, row)
    )
  const subOf = (row: Row) =>
    under.filter(({ name }) => !isNone(valueAt(row, name))).slice(0, UNDER_NAME)
  const nameOf = (column: RowColumn, row: Row) => (
    <>
      {linkOf(column, row)}
      {mark && <> {mark(row)}</>}
      <Sub>
        {subOf(row).map((each, n) => (
          <span key={each.name}>
            {n > 0 && ' · '}
            {cellOf(each, row)}
          </span>
        ))}
      </Sub>
    </>
  )
  return columns.map((column) => ({
    ...column,
    cell: (row) => (column.name === nameColumn?.name ? nameOf : cellOf)(column, row),
  }))
}
