/** How those who can sign in are listed (`GET /admin/users`, `gatehook users list`). */
import type { Collection } from '../lists/collection.ts'
import { cellView } from '../lists/encode.ts'

const columns: Collection['columns'] = [
  { name: 'id', type: 'int' },
  { name: 'username', type: 'email' },
  { name: 'role', type: 'text', nullable: true },
  { name: 'scopes', type: 'json' },
  { name: 'disabled', type: 'bool' },
  { name: 'customer', type: 'text' },
  { name: 'mode', type: 'text', oneOf: ['live', 'test'] },
  { name: 'created_at', type: 'time' },
]

/** `resource`: a declared name, never request data. */
export const peopleOfResource = (resource: string): Collection => ({
  name: 'people',
  table: 'gh_people',
  columns,
  integerId: true,
  scoped: false,
  counted: false,
  filter: ['id', 'username', 'role', 'disabled', 'customer', 'mode'],
  sort: ['id'],
  where: `resource = '${resource}'`,
})

export const personView = cellView(
  columns,
  (row) => `{"self":${JSON.stringify(`/admin/users/${row[0]}`)}}`,
)
