/** `gatehook customers …`: the acts of §13 on customers, by the same functions as HTTP. */
import type { Customer } from '../access/collections.ts'
import { createCustomer, listCustomers, patchCustomer } from '../access/customers.ts'
import type { CommandSpec, FamilySpec, Input } from './command.ts'
import { everyPage, FIRST, known, engineOptions as options, withApp } from './engine.ts'
import { cliActor } from './keys.ts'
import { bold, dim, table, yellow } from './output.ts'

async function list(input: Input): Promise<undefined> {
  const customers = await withApp(input, ({ administration }) =>
    everyPage((after, limit) => listCustomers(administration.db, after, limit)),
  )
  input.out.result({ data: customers }, () =>
    table(
      ['id', 'name', 'state', 'limits', 'created'],
      customers.map((one) => [
        one.id,
        one.name,
        one.suspended ? yellow('suspended') : 'active',
        Object.keys(one.limits).length === 0 ? dim('as configured') : JSON.stringify(one.limits),
        one.created_at,
      ]),
    ),
  )
  return
}

async function create(input: Input): Promise<undefined> {
  const customer = await withApp(
    input,
    ({ administration }) => createCustomer(administration, { name: input.args[0] }, cliActor()),
    FIRST,
  )
  input.out.result(customer, () => `Created ${bold(customer.id)} (${customer.name}).`)
  return
}

const suspend =
  (suspended: boolean, said: (customer: Customer) => string) =>
  async (input: Input): Promise<undefined> => {
    const id = input.args[0] ?? ''
    const customer = await withApp(input, ({ administration }) =>
      known('customer', id, patchCustomer(administration, id, { suspended }, cliActor())),
    )
    input.out.result(customer, () => said(customer))
    return
  }

const config: CommandSpec['config'] = ['databaseUrl']

export const customers: FamilySpec = {
  name: 'customers',
  summary: 'customers: list, create, suspend, resume',
  commands: [
    {
      name: 'list',
      summary: 'all customers',
      options,
      config,
      examples: [['gatehook customers list --json', 'for programs']],
      run: list,
    },
    {
      name: 'create <NAME>',
      summary: 'a new customer',
      options,
      config,
      examples: [
        ['gatehook customers create "Acme Ltd"', 'its id goes into keys create --customer'],
      ],
      run: create,
    },
    {
      name: 'suspend <ID>',
      summary: 'its credentials are refused, its deliveries wait',
      options,
      config,
      examples: [['gatehook customers suspend cus_…', 'nothing is deleted']],
      run: suspend(true, (one) => `Suspended ${bold(one.id)} (${one.name}).`),
    },
    {
      name: 'resume <ID>',
      summary: 'ends a suspension',
      options,
      config,
      examples: [['gatehook customers resume cus_…', 'waiting deliveries go out']],
      run: suspend(false, (one) => `Resumed ${bold(one.id)} (${one.name}).`),
    },
  ],
}
