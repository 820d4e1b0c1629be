/** The tables of people who can sign in, and of operators. */

import { ROLES } from '../../kernel/principal.ts'
import { b, type JsonOf } from '../../protocol/fields/members.ts'
import { type AdminTable, createAdminTable } from '../access/admin-table.ts'
import { mode } from '../access/collections.ts'
import type { Directory } from './person.ts'

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
    name: b.text().nullable().describe('The field `name` of the row.').example('Ada'),
    email: b.email().nullable().describe('The sign-in name, if it is an e-mail address.'),
    username: b.text().describe('The sign-in name.').example('ada@example.com'),
    ...credentialMembers,
    created_at: b.time(),
    last_sign_in_at: b
      .time()
      .nullable()
      .describe('The last sign-in with the password. Basic authentication is none.'),
  })
  .named('Account')
  .columns({
    username: { title: 'signs in as' },
    id: {},
    customer: {},
    mode: {},
    state: { states: [['disabled', { true: ['warn', 'disabled'], false: ['ok', 'active'] }]] },
    role: { none: 'none' },
    scopes: { none: 'none', isWide: true },
    created_at: { as: 'time', isFact: true },
    last_sign_in_at: {
      title: 'last sign-in',
      as: 'time',
      none: 'none recorded',
      isFact: true,
    },
  })

export type AccountJson = JsonOf<typeof account>

/** Returns the table of people; its resource is a declared name, never request data. */
export const accountTable = ({
  resource,
  fields,
  username,
}: Pick<Directory, 'resource' | 'fields' | 'username'>): AdminTable<AccountJson> =>
  createAdminTable({
    row: account,
    path: '/admin/users',
    name: 'people',
    table: 'gh_people',
    filter: ['id', 'username', 'role', 'disabled', 'customer', 'mode'],
    sort: ['id'],
    indexes: [['id'], ['folded'], ['customer', 'id']],
    folded: { username: 'folded' },
    repeated: { email: fields[username]!.kind === 'email' ? 'username' : undefined },
    where: `resource = '${resource}'`,
  })

export const operator = b
  .object({
    id: b.text().example('op_01jdq8w9vgk7'),
    // Not the format of addresses on the web: a domain may have one label.
    email: b.text().example('ana@example.com'),
    role: b.oneOf(ROLES),
    disabled: b.bool().example(false),
    issuer: b
      .text()
      .nullable()
      .describe('The identity provider of an operator who signs in there; it decides the role.')
      .example('https://login.example.com'),
    created_at: b.time(),
  })
  .named('Operator')
  .columns({
    email: { title: 'operator' },
    role: {},
    state: { states: [['disabled', { true: ['hold', 'disabled'], false: ['ok', 'active'] }]] },
    id: {},
    created_at: {},
    issuer: { title: 'signs in at', none: 'this service', isFact: true },
  })

export type OperatorJson = JsonOf<typeof operator>

export const operatorTable = createAdminTable({
  row: operator,
  path: '/admin/operators',
  name: 'operators',
  table: 'gh_operators',
  filter: ['id', 'email', 'role', 'disabled'],
  sort: ['id'],
  folded: { email: 'folded' },
})
