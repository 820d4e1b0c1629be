/** `gatehook customers …`: customers of the installation (§13). */
import { type CustomerJson, customer } from '../identity/access/collections.ts'
import { customerOperations } from '../identity/access/operations.ts'
import { erasureOperations } from '../operate/erasure/operations.ts'
import { administration, urlOption } from './api.ts'
import type { BodyWords } from './body-options.ts'
import type { CommandDescription, CommandFamily, CommandSpec } from './command.ts'
import { UsageError } from './errors.ts'
import { printExport } from './export-lines.ts'
import { cliActor, installationOptions } from './installation.ts'
import { operationCommand } from './operation-command.ts'
import { bold } from './output.ts'
import { customerIdOf } from './owner.ts'

const { create, update } = customerOperations

/** A command that sets or clears `suspended`. */
const suspension = (suspended: boolean, verb: string, description: CommandDescription) =>
  operationCommand<CustomerJson>(administration, {
    ...description,
    operation: update,
    body: { suspended },
    idOf: customerIdOf,
    describe: ({ id, name }) => `${verb} ${bold(id)} (${name}).`,
  })

const words: BodyWords = { contact_email: { option: 'contact' } }

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
      pathOf: async (api) => `/admin/customers/${await customerIdOf(api, name)}`,
      readLocal: async (app, api) =>
        app.erasure.exportCustomer(await customerIdOf(api, name), cliActor()),
    })
    return undefined
  },
}

export const customers: CommandFamily = {
  name: 'customers',
  summary: 'customers: list, create, update, suspend, resume, export, delete',
  commands: [
    administration.list<CustomerJson>({
      name: 'list',
      summary: 'all customers',
      examples: [['gatehook customers list --json', 'for programs']],
      rows: (api) => api.list('/admin/customers?sort=id'),
      columns: customer,
    }),
    operationCommand<CustomerJson>(administration, {
      name: 'create <NAME>',
      summary: 'a new customer',
      operation: create,
      args: ['name'],
      words,
      examples: [['gatehook customers create "Acme Ltd"', 'for keys create --customer ID']],
      describe: ({ id, name }) => `Created ${bold(id)} (${name}).`,
    }),
    operationCommand<CustomerJson>(administration, {
      name: 'update <CUSTOMER>',
      summary: 'changes its name, contact, external id or limits',
      operation: update,
      words: {
        ...words,
        suspended: false,
        limits: {
          members: {
            rate_limit: { option: 'credential-limit' },
            total_rate_limit: { option: 'total-limit' },
            delivery_rate: { option: 'delivery-limit' },
          },
        },
      },
      idOf: customerIdOf,
      examples: [['gatehook customers update cus_… --total-limit 600/60', 'requests in 60 s']],
      describe: ({ id, name }) => `Updated ${bold(id)} (${name}).`,
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
    operationCommand<{ id: string }>(administration, {
      name: 'delete <CUSTOMER>',
      summary: 'deletes a customer with all of its data, for good',
      description:
        'Its credentials end within 2 s. A running node deletes its rows in the background; ' +
        'gatehook customers list has the progress.',
      operation: erasureOperations.deleteCustomer,
      options: [['--force', 'required: what is deleted cannot return']],
      examples: [['gatehook customers delete cus_… --force', 'after gatehook customers export']],
      async idOf(api, customer, { options }) {
        const id = await customerIdOf(api, customer)
        if (options.force === true) return id
        throw new UsageError('This deletes all data of the customer, for good: add --force.')
      },
      describe: ({ id }) => `${bold(id)} is being deleted: gatehook customers list`,
    }),
  ],
}
