/** `gatehook customers …`: the acts of §13 on customers, by the same functions as HTTP. */
import { customerTable } from '../access/collections.ts'
import { createCustomer, updateCustomer } from '../access/customers.ts'
import type { About, FamilySpec } from './command.ts'
import { cliActor, engine, FIRST, known } from './engine.ts'
import { bold, dim, yellow } from './output.ts'

/** A command that suspends a customer or ends that; `said` before its name. */
const suspending = (suspended: boolean, said: string, about: About) =>
  engine.act({
    ...about,
    act:
      ({ args: [id = ''] }) =>
      ({ administration }) =>
        known('customer', id, updateCustomer(administration, id, { suspended }, cliActor())),
    said: ({ id, name }) => `${said} ${bold(id)} (${name}).`,
  })

export const customers: FamilySpec = {
  name: 'customers',
  summary: 'customers: list, create, suspend, resume',
  commands: [
    engine.list({
      name: 'list',
      summary: 'all customers',
      examples: [['gatehook customers list --json', 'for programs']],
      rows:
        () =>
        ({ db }) =>
          customerTable.readAll(db),
      columns: {
        id: (one) => one.id,
        name: (one) => one.name,
        state: (one) => (one.suspended ? yellow('suspended') : 'active'),
        limits: ({ limits }) =>
          Object.keys(limits).length === 0 ? dim('as configured') : JSON.stringify(limits),
        created: (one) => one.created_at,
      },
    }),
    engine.act({
      name: 'create <NAME>',
      summary: 'a new customer',
      examples: [
        ['gatehook customers create "Acme Ltd"', 'its id goes into keys create --customer'],
      ],
      opening: FIRST,
      act:
        ({ args: [name] }) =>
        ({ administration }) =>
          createCustomer(administration, { name }, cliActor()),
      said: ({ id, name }) => `Created ${bold(id)} (${name}).`,
    }),
    suspending(true, 'Suspended', {
      name: 'suspend <ID>',
      summary: 'its credentials are refused, its deliveries wait',
      examples: [['gatehook customers suspend cus_…', 'nothing is deleted']],
    }),
    suspending(false, 'Resumed', {
      name: 'resume <ID>',
      summary: 'ends a suspension',
      examples: [['gatehook customers resume cus_…', 'waiting deliveries go out']],
    }),
  ],
}
