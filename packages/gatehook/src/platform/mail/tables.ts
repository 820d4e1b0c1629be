/** Mail that waits to be sent. */
import { byScope, int, type Table, text } from '../storage/table.ts'

const mail: Table = {
  name: 'gh_mail',
  row: 'A message. `scope`: that of the customer or person that it is for; null if unknown.',
  columns: {
    id: text.plain,
    scope: int.orNull,
    kind: text.plain,
    payload: text.personal,
    state: text.plain,
    attempts: int,
    due_at: int,
    error: text.personal.orNull,
    created_at: int,
  },
  key: ['id'],
  place: 'local',
  belongs: byScope,
  indexes: {
    due: { on: 'state, due_at, id', serves: 'due mail' },
  },
  stays: 'until it is sent; a failed one 7 days',
}

export const mailTables: readonly Table[] = [mail]
