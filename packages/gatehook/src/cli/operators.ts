/** `gatehook operators …`: operators of the console (§12.2), without a running node. */
import type { App } from '../app.ts'
import type { Actor } from '../history/audit/actor.ts'
import { operator, operatorTable } from '../identity/people/collection.ts'
import {
  endOperatorSession,
  operatorSession,
  operatorSessionTable,
} from '../identity/people/operator-sessions.ts'
import {
  createConsoleLink,
  createOperator,
  operatorCreation,
  operatorPassword,
  operatorRole,
  setOperatorDisabled,
  setOperatorPassword,
  setOperatorRole,
} from '../identity/people/operators.ts'
import { resetSecondFactor } from '../identity/people/second-factor.ts'
import { ROLES } from '../kernel/principal.ts'
import {
  type Creation,
  createdCredential,
  listCreations,
} from '../operate/monitoring/operator-creations.ts'
import { readMembers } from '../protocol/fields/body.ts'
import { bodyOptions } from './body-options.ts'
import type { CommandDescription, CommandFamily, Input } from './command.ts'
import { CommandError } from './errors.ts'
import { cliActor, installation, requireFound } from './installation.ts'
import { bold, dim, yellow } from './output.ts'
import { PASSWORD_SOURCE, readPassword } from './password-input.ts'

/** The address is an argument, and the password is read from the terminal. */
const creation = bodyOptions(operatorCreation, { email: false, password: false })

/** The operators that `operators link` lists. */
const LISTED_MAX = 5

/** The commands that end what an operator created. */
const ENDS: Readonly<
  Record<Creation['kind'], (row: Pick<Creation, 'id' | 'name' | 'customer' | 'mode'>) => string>
> = {
  key: ({ id }) => `gatehook keys revoke ${id}`,
  client: ({ id }) => `gatehook clients delete ${id}`,
  operator: ({ name }) => `gatehook operators disable ${name}`,
  person: ({ id }) => `gatehook users disable ${id}`,
  issuer: ({ id }) => `gatehook issuers delete ${id}`,
  webhook: ({ id, customer, mode }) =>
    `gatehook webhooks delete ${id} --customer ${customer} --mode ${mode}`,
}

/** A command that changes the operator whose e-mail address is its first argument. */
const change = <T>(
  perform: (app: App, email: string, actor: Actor, args: Input['args']) => Promise<T>,
  describe: (result: T, email: string) => string,
  description: CommandDescription,
) =>
  installation.action({
    ...description,
    act: (app, { args: [email = '', ...args] }) =>
      requireFound('operator', email, perform(app, email, cliActor(), args)),
    describe: (result, { args: [email = ''] }) => describe(result, bold(email)),
  })

export const operators: CommandFamily = {
  name: 'operators',
  summary: 'operators of the console: accounts, links, sessions, second factors',
  commands: [
    installation.list({
      name: 'list',
      summary: 'all operators',
      examples: [['gatehook operators list --json', 'for programs']],
      rows: ({ db }) => operatorTable.readAll(db),
      empty: 'There are no operators. Create one: gatehook operators create you@example.com',
      columns: operator,
    }),
    installation.action({
      name: 'create <EMAIL>',
      summary: `a new operator; ${PASSWORD_SOURCE}`,
      options: creation.options,
      examples: [
        ['gatehook operators create you@example.com', 'prompts for the password'],
        ['gatehook operators create ann@example.com --role support', 'deliveries and keys only'],
      ],
      async act({ administration, hasher }, input) {
        const [email = ''] = input.args
        const options = await creation.read(input).at(async () => administration.clock.now())
        const members = { ...options, email, password: await readPassword(email) }
        const body = readMembers(members, operatorCreation)
        return createOperator(administration, hasher, body, cliActor())
      },
      describe: ({ email, role }) => `Created the operator ${bold(email)}, ${role}.`,
    }),
    change(
      (app, email, actor, [role]) =>
        setOperatorRole(app.administration, email, readMembers({ role }, operatorRole), actor),
      ({ role }, email) => `${email} has the role ${role}.`,
      {
        name: 'role <EMAIL> <ROLE>',
        summary: `another role: ${ROLES.join(', ')}; open sessions have it at once`,
        examples: [
          ['gatehook operators role ann@example.com viewer', 'from now on, she only reads'],
        ],
      },
    ),
    change(
      async ({ administration, hasher }, email, actor) => {
        const members = { password: await readPassword(email) }
        const body = readMembers(members, operatorPassword)
        return setOperatorPassword(administration, hasher, email, body, actor)
      },
      (_, email) => `Changed. The sessions of ${email} have ended.`,
      {
        name: 'password <EMAIL>',
        summary: `a new password, which ends sessions; ${PASSWORD_SOURCE}`,
        examples: [['gatehook operators password you@example.com < secret', 'without a prompt']],
      },
    ),
    installation.action({
      name: 'disable <EMAIL>',
      summary: 'ends the sessions; names what the operator created that gives access still',
      examples: [['gatehook operators disable you@example.com', 'at once, on every node']],
      async act({ administration: admin, db }, { args: [email = ''] }) {
        const change = setOperatorDisabled(admin, email, true, cliActor())
        const operator = await requireFound('operator', email, change)
        const credentials = await listCreations(db, operator.id, admin.clock.now())
        return { ...operator, credentials }
      },
      describe({ email, credentials }) {
        const lines = credentials.map((row) => `  ${ENDS[row.kind](row)}  ${row.name}`)
        const created = `that ${bold(email)} created`
        const sentence =
          lines.length === 0
            ? `Nothing ${created} gives access.`
            : `${yellow('This')} ${created} gives access until you end it:`
        return [`Disabled ${bold(email)}.`, sentence, ...lines].join('\n')
      },
    }),
    installation.list({
      name: 'credentials <EMAIL>',
      summary: 'what an operator created that gives access still: keys, clients, accounts',
      examples: [['gatehook operators credentials you@example.com', 'before the operator leaves']],
      async rows({ administration: admin, db }, { args: [email = ''] }) {
        const operator = (await operatorTable.readAll(db)).find((row) => row.email === email)
        if (!operator) throw new CommandError(`There is no operator ${email}.`)
        return listCreations(db, operator.id, admin.clock.now())
      },
      empty: 'Nothing that this operator created gives access.',
      columns: createdCredential,
    }),
    change(
      (app, email, actor) => setOperatorDisabled(app.administration, email, false, actor),
      (_, email) => `Enabled ${email}.`,
      {
        name: 'enable <EMAIL>',
        summary: 'the operator can sign in',
        examples: [['gatehook operators enable you@example.com', 'with the same password']],
      },
    ),
    change(
      (app, email, actor) => resetSecondFactor(app.administration, email, actor),
      (_, email) => `Removed the second factor of ${email}.`,
      {
        name: 'reset-second-factor <EMAIL>',
        summary: 'for a lost device: the next sign-in enrols another one; sessions end',
        examples: [['gatehook operators reset-second-factor you@example.com', 'then send a link']],
      },
    ),
    installation.list({
      name: 'sessions',
      summary: 'sessions of the console',
      examples: [['gatehook operators sessions --json', 'for programs']],
      rows: ({ db }) => operatorSessionTable.readAll(db),
      empty: 'No operator is signed in.',
      columns: operatorSession,
    }),
    installation.action({
      name: 'end-session <ID>',
      summary: 'ends a session of the console at once',
      examples: [['gatehook operators end-session ses_01k9', 'an id of `operators sessions`']],
      act: ({ administration }, { args: [id = ''] }) =>
        requireFound('session', id, endOperatorSession(administration, id, cliActor())),
      describe: ({ id }) => `Ended ${id}.`,
    }),
    installation.action({
      name: 'link [EMAIL]',
      summary:
        'a link that opens the console once, within 30 minutes; without EMAIL, it creates one',
      config: ['databaseUrl', 'publicUrl', 'host', 'port'],
      examples: [
        ['gatehook operators link you@example.com', 'for a lost password'],
        ['gatehook operators link', 'creates an operator in the console'],
      ],
      async act({ administration, publicUrl, db }, { args: [email] }) {
        const link = createConsoleLink(administration, email, cliActor())
        const { path, expires_at } = await requireFound('operator', email ?? '', link)
        const url = `${publicUrl()}${path}`
        if (email !== undefined) return { url, expires_at, operator: email, operators: [] }
        const rows = (await operatorTable.readAll(db)).filter((row) => row.issuer === null)
        const operators = rows.map((row) => ({ email: row.email, role: row.role }))
        return { url, expires_at, operator: null, operators }
      },
      describe({ url, expires_at, operator: email, operators: others }) {
        const purpose = email === null ? 'and creates an operator there' : `as ${bold(email)}`
        const links = others.map(
          (other) => `  gatehook operators link ${other.email}  ${dim(other.role)}`,
        )
        const listed = links.slice(0, LISTED_MAX)
        const advice = links.length > 0 ? ['For an operator that exists:', ...listed, ''] : []
        const sentence = `Opens the console once, ${purpose}, until ${expires_at}:`
        return [sentence, '', `  ${url}`, '', ...advice].join('\n')
      },
    }),
  ],
}
