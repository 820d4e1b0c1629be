/** Mail that waits to be sent. */
import { int, type Table, text } from '../storage/table.ts'

const mail: Table = {
  name: 'gh_mail',
  row: 'A message.',
  columns: {
    id: text,
    kind: text,
    payload: text,
    state: text,
    attempts: int,
    due_at: int,
    error: text.orNull,
    created_at: int,
  },
  key: ['id'],
  place: 'local',
  indexes: {
    due: { on: 'state, due_at, id', serves: 'due mail' },
  },
  stays: 'until it is sent; a failed one 7 days',
}

export const mailTables: readonly Table[] = [mail]
