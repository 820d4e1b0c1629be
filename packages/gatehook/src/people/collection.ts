/** The tables of people who can sign in, and of operators. */
import { type AdminTable, createAdminTable } from '../access/admin-table.ts'
import { mode } from '../access/collections.ts'
import { b, type JsonOf } from '../fields/members.ts'
import { ROLES } from '../kernel/principal.ts'

/** The members of a credential that follow the row's own. */
export const credentialMembers = {
  role: b.text().nullable().describe('A claim of tokens, for the program of the service.'),
  scopes: b.list(b.text()).example(['webhooks:read']),
  disabled: b.bool().example(false),
  customer: b.text().example('cus_01jdq8w9vgk7'),
  mode,
}

/** The credential of a person, without its row. */
export const account = b
  .object({
    id: b.int(1),
    username: b.email(),
    ...credentialMembers,
    created_at: b.time(),
    last_sign_in_at: b
      .time()
      .nullable()
      .describe('The last sign-in with the password. Basic authentication is none.'),
  })
  .named('Account')

export type AccountJson = JsonOf<typeof account>

/** Returns the table of people; `resource` is a declared name, never request data. */
export const accountTable = (resource: string): AdminTable<AccountJson> =>
  createAdminTable(
    account,
    {
      name: 'people',
      table: 'gh_people',
      filter: ['id', 'username', 'role', 'disabled', 'customer', 'mode'],
      sort: ['id'],
      indexes: [['id'], ['folded'], ['customer', 'id']],
      folded: { username: 'folded' },
      where: `resource = '${resource}'`,
    },
    '/admin/users',
  )

export const operator = b
  .object({
    id: b.text().example('op_01jdq8w9vgk7'),
    email: b.email(),
    role: b.oneOf(ROLES),
    disabled: b.bool().example(false),
    created_at: b.time(),
  })
  .named('Operator')

export type OperatorJson = JsonOf<typeof operator>

export const operatorTable = createAdminTable(
  operator,
  {
    name: 'operators',
    table: 'gh_operators',
    filter: ['id', 'email', 'role', 'disabled'],
    sort: ['id'],
    folded: { email: 'folded' },
  },
  '/admin/operators',
)
