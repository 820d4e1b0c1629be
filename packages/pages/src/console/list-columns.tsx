/** Columns that several lists have. */
import { day } from '../format.ts'
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
