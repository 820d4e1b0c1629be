/** `gatehook customers …`: customers of the installation (§13). */
import { type CustomerJson, customer } from '../identity/access/collections.ts'
import { type Api, administration, urlOption } from './api.ts'
import type { CommandDescription, CommandFamily, CommandSpec } from './command.ts'
import { UsageError } from './errors.ts'
import { printExport } from './export-lines.ts'
import { cliActor, installationOptions } from './installation.ts'
import { bold } from './output.ts'
import { customerIdOf } from './owner.ts'

const pathOf = async (api: Api, customer: string) =>
  `/admin/customers/${encodeURIComponent(await customerIdOf(api, customer))}`

/** A command that sets or clears `suspended`. */
const suspension = (suspended: boolean, verb: string, description: CommandDescription) =>
  administration.action({
    ...description,
    act: async (api, { args: [customer = ''] }) =>
      api.request<CustomerJson>('PATCH', await pathOf(api, customer), { suspended }),
    describe: ({ id, name }) => `${verb} ${bold(id)} (${name}).`,
  })

const exportCommand: CommandSpec = {
  name: 'export <CUSTOMER>',
  summary: 'prints all data of a customer, one JSON object in a line',
  description:
    'Prints each row of the customer as {"table", "row"}: its resources, events, deliveries, ' +
    'keys, people and requests, without credentials, hashes and secrets. The audit trail ' +
    'records it.',
  options: [...installationOptions, urlOption],
  config: ['databaseUrl'],
  examples: [['gatehook customers export cus_… > acme.ndjson', 'before a deletion']],
  async run(input) {
    const [name = ''] = input.args
    await printExport(input, {
      pathOf: (api) => pathOf(api, name),
      readLocal: async (app, api) =>
        app.erasure.exportCustomer(await customerIdOf(api, name), cliActor()),
    })
    return undefined
  },
}

export const customers: CommandFamily = {
  name: 'customers',
  summary: 'customers: list, create, suspend, resume, export, delete',
  commands: [
    administration.list<CustomerJson>({
      name: 'list',
      summary: 'all customers',
      examples: [['gatehook customers list --json', 'for programs']],
      rows: (api) => api.list('/admin/customers?sort=id'),
      columns: customer,
    }),
    administration.action({
      name: 'create <NAME>',
      summary: 'a new customer',
      options: [
        ['--contact <EMAIL>', 'the address for news about the API'],
        ['--external-id <ID>', 'the id in your own system, which names the customer as well'],
      ],
      examples: [['gatehook customers create "Acme Ltd"', 'for keys create --customer ID']],
      act: (api, { args: [name], options: { contact, externalId } }) =>
        api.request<CustomerJson>('POST', '/admin/customers', {
          name,
          contact_email: contact,
          external_id: externalId,
        }),
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
    exportCommand,
    administration.action({
      name: 'delete <CUSTOMER>',
      summary: 'deletes a customer with all of its data, for good',
      description:
        'Its credentials end within 2 s. A running node deletes its rows in the background; ' +
        'gatehook customers list has the progress.',
      options: [['--force', 'required: what is deleted cannot return']],
      examples: [['gatehook customers delete cus_… --force', 'after gatehook customers export']],
      act: async (api, { args: [customer = ''], options }) => {
        const path = await pathOf(api, customer)
        if (options.force !== true) {
          throw new UsageError('This deletes all data of the customer, for good: add --force.')
        }
        return api.request<{ id: string }>('DELETE', path)
      },
      describe: ({ id }) => `${bold(id)} is being deleted: gatehook customers list`,
    }),
  ],
}
