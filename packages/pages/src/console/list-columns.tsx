/** Columns that several lists have. */
import { slowNow } from '../clock.ts'
import { day, listTime } from '../format.ts'
import { State, type Tone } from '../parts/state.tsx'
import type { Column } from '../parts/table.tsx'

export const idColumn: Column<{ readonly id: string }> = {
  name: 'id',
  label: 'Id',
  priority: 3,
  cell: ({ id }) => <code class="soft">{id}</code>,
}

export const createdColumn: Column<{ readonly created_at: string }> = {
  name: 'created',
  label: 'Created',
  priority: 2,
  class: 'nowrap',
  cell: ({ created_at: at }) => <time dateTime={at}>{day(at)}</time>,
}

export const timeColumn = <Row,>(
  atOf: (row: Row) => string,
  label = 'Time (UTC)',
): Column<Row> => ({
  name: 'at',
  label,
  priority: 2,
  class: 'faint nowrap',
  cell: (row) => <time dateTime={atOf(row)}>{listTime(atOf(row), slowNow().value)}</time>,
})

export const stateColumn = <Row,>(
  stateOf: (row: Row) => readonly [tone: Tone, words: string],
): Column<Row> => ({
  name: 'state',
  label: 'State',
  class: 'nowrap',
  cell: (row) => {
    const [tone, words] = stateOf(row)
    return <State tone={tone}>{words}</State>
  },
})

export const versionColumn = <Row,>(
  versionOf: (row: Row) => string | null,
  priority: 3 | 4,
): Column<Row> => ({
  name: 'version',
  label: 'Version',
  priority,
  cell: (row) => <span class="mono soft">{versionOf(row) ?? '–'}</span>,
})
