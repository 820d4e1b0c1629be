/** The tables of people who can sign in, and of operators. */
import { type AdminTable, createAdminTable } from '../access/admin-table.ts'

/** The credential of a person, without its row. */
export interface AccountJson {
  readonly id: number
  readonly username: string
  readonly role: string | null
  readonly scopes: readonly string[]
  readonly disabled: boolean
  readonly customer: string
  readonly mode: 'live' | 'test'
  readonly created_at: string
}

/** Returns the table of people; `resource` is a declared name, never request data. */
export const accountTable = (resource: string): AdminTable<AccountJson> =>
  createAdminTable<AccountJson>(
    {
      name: 'people',
      table: 'gh_people',
      columns: [
        { name: 'id', type: 'int' },
        { name: 'username', type: 'email' },
        { name: 'role', type: 'text', nullable: true },
        { name: 'scopes', type: 'json' },
        { name: 'disabled', type: 'bool' },
        { name: 'customer', type: 'text' },
        { name: 'mode', type: 'text', oneOf: ['live', 'test'] },
        { name: 'created_at', type: 'time' },
      ],
      filter: ['id', 'username', 'role', 'disabled', 'customer', 'mode'],
      sort: ['id'],
      indexes: [['id'], ['lower(username)'], ['customer', 'id']],
      where: `resource = '${resource}'`,
    },
    '/admin/users',
  )

export interface OperatorJson {
  readonly id: string
  readonly email: string
  readonly disabled: boolean
  readonly created_at: string
}

/** Only the command line lists operators. */
export const operatorTable = createAdminTable<OperatorJson>(
  {
    name: 'operators',
    table: 'gh_operators',
    columns: [
      { name: 'id', type: 'text' },
      { name: 'email', type: 'text' },
      { name: 'disabled', type: 'bool' },
      { name: 'created_at', type: 'time' },
    ],
    filter: [],
    sort: ['id'],
  },
  '/admin/operators',
)
