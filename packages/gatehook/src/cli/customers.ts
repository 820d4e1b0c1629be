/** `gatehook customers …`: customers of the installation (§13). */
import type { CustomerJson } from '../identity/access/collections.ts'
import { administration } from './api.ts'
import type { CommandDescription, CommandFamily } from './command.ts'
import { bold, dim, yellow } from './output.ts'
import { customerIdOf } from './owner.ts'

/** A command that sets or clears `suspended`. */
const suspension = (suspended: boolean, verb: string, description: CommandDescription) =>
  administration.action({
    ...description,
    async act(api, { args: [customer = ''] }) {
      const path = `/admin/customers/${encodeURIComponent(await customerIdOf(api, customer))}`
      return api.request<CustomerJson>('PATCH', path, { suspended })
    },
    describe: ({ id, name }) => `${verb} ${bold(id)} (${name}).`,
  })

const limitsText = (limits: CustomerJson['limits']) =>
  Object.keys(limits).length === 0 ? dim('as configured') : JSON.stringify(limits)

export const customers: CommandFamily = {
  name: 'customers',
  summary: 'customers: list, create, suspend, resume',
  commands: [
    administration.list<CustomerJson>({
      name: 'list',
      summary: 'all customers',
      examples: [['gatehook customers list --json', 'for programs']],
      rows: (api) => api.list('/admin/customers?sort=id'),
      columns: [
        'id',
        'name',
        ['state', ({ suspended }) => (suspended ? yellow('suspended') : 'active')],
        ['limits', ({ limits }) => limitsText(limits)],
        ['created', 'created_at'],
      ],
    }),
    administration.action({
      name: 'create <NAME>',
      summary: 'a new customer',
      options: [['--contact <EMAIL>', 'the address for news about the API']],
      examples: [['gatehook customers create "Acme Ltd"', 'for keys create --customer ID']],
      act: (api, { args: [name], options: { contact } }) =>
        api.request<CustomerJson>('POST', '/admin/customers', { name, contact_email: contact }),
      describe: ({ id, name }) => `Created ${bold(id)} (${name}).`,
    }),
    suspension(true, 'Suspended', {
      name: 'suspend <CUSTOMER>',
      summary: 'rejects its credentials and holds its deliveries',
      examples: [['gatehook customers suspend cus_…', 'deletes no data']],
    }),
    suspension(false, 'Resumed', {
      name: 'resume <CUSTOMER>',
      summary: 'ends a suspension',
      examples: [['gatehook customers resume cus_…', 'held deliveries are sent']],
    }),
  ],
}
