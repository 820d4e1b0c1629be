/** `gatehook customers …`: customers of the installation (§13). */
import type { CustomerJson } from '../access/collections.ts'
import { administration } from './api.ts'
import type { CommandDescription, CommandFamily } from './command.ts'
import { BEFORE_FIRST_START } from './installation.ts'
import { bold, dim, yellow } from './output.ts'

/** A command that sets or clears `suspended`. */
const suspension = (suspended: boolean, verb: string, description: CommandDescription) =>
  administration.action({
    ...description,
    act:
      ({ args: [id = ''] }) =>
      (api): Promise<CustomerJson> =>
        api.request('PATCH', `/admin/customers/${encodeURIComponent(id)}`, { suspended }),
    describe: ({ id, name }) => `${verb} ${bold(id)} (${name}).`,
  })

export const customers: CommandFamily = {
  name: 'customers',
  summary: 'customers: list, create, suspend, resume',
  commands: [
    administration.list<CustomerJson>({
      name: 'list',
      summary: 'all customers',
      examples: [['gatehook customers list --json', 'for programs']],
      rows: () => (api) => api.list('/admin/customers?sort=id'),
      columns: {
        id: (customer) => customer.id,
        name: (customer) => customer.name,
        state: (customer) => (customer.suspended ? yellow('suspended') : 'active'),
        limits: ({ limits }) =>
          Object.keys(limits).length === 0 ? dim('as configured') : JSON.stringify(limits),
        created: (customer) => customer.created_at,
      },
    }),
    administration.action({
      name: 'create <NAME>',
      summary: 'a new customer',
      examples: [['gatehook customers create "Acme Ltd"', 'for keys create --customer ID']],
      opening: BEFORE_FIRST_START,
      act:
        ({ args: [name] }) =>
        (api): Promise<CustomerJson> =>
          api.request('POST', '/admin/customers', { name }),
      describe: ({ id, name }) => `Created ${bold(id)} (${name}).`,
    }),
    suspension(true, 'Suspended', {
      name: 'suspend <ID>',
      summary: 'rejects its credentials and holds its deliveries',
      examples: [['gatehook customers suspend cus_…', 'deletes no data']],
    }),
    suspension(false, 'Resumed', {
      name: 'resume <ID>',
      summary: 'ends a suspension',
      examples: [['gatehook customers resume cus_…', 'held deliveries are sent']],
    }),
  ],
}
