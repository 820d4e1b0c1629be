/** Those who can sign in, and operators, as they are listed and shown. */
import { type AdminTable, createAdminTable } from '../access/admin-table.ts'

/** What lets a person sign in, without its row. */
export interface Account {
  readonly id: number
  readonly username: string
  readonly role: string | null
  readonly scopes: readonly string[]
  readonly disabled: boolean
  readonly customer: string
  readonly mode: 'live' | 'test'
  readonly created_at: string
}

/** `resource`: a declared name, never request data. */
export const accountRows = (resource: string): AdminTable<Account> =>
  createAdminTable<Account>(
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

export interface Operator {
  readonly id: string
  readonly email: string
  readonly disabled: boolean
  readonly created_at: string
}

/** Listed by the command line alone. */
export const operatorRows = createAdminTable<Operator>(
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
