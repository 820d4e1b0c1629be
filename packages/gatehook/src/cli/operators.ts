/** `gatehook operators …`: operators of the console (§12.2), which no endpoint manages. */
import { publicUrlOf } from '../config/config.ts'
import { readConfig } from '../config/environment.ts'
import { operatorTable } from '../people/collection.ts'
import { endOperatorSession, operatorSessionTable } from '../people/operator-sessions.ts'
import {
  createConsoleLink,
  createOperator,
  setOperatorDisabled,
  setOperatorPassword,
} from '../people/operators.ts'
import { resetSecondFactor } from '../people/second-factor.ts'
import type { CommandDescription, CommandFamily } from './command.ts'
import { BEFORE_FIRST_START, cliActor, installation, requireFound } from './installation.ts'
import { bold, yellow } from './output.ts'
import { PASSWORD_SOURCE, readPassword } from './password-input.ts'

/** A command that disables or enables an operator. */
const disabling = (disabled: boolean, verb: string, description: CommandDescription) =>
  installation.action({
    ...description,
    act:
      ({ args: [email = ''] }) =>
      ({ administration }) => {
        const change = setOperatorDisabled(administration, email, disabled, cliActor())
        return requireFound('operator', email, change)
      },
    describe: ({ email }) => `${verb} ${bold(email)}.`,
  })

export const operators: CommandFamily = {
  name: 'operators',
  summary: 'operators of the console: accounts, links, sessions, second factors',
  commands: [
    installation.list({
      name: 'list',
      summary: 'all operators',
      examples: [['gatehook operators list --json', 'for programs']],
      rows:
        () =>
        ({ db }) =>
          operatorTable.readAll(db),
      empty: 'There are no operators. Create one: gatehook operators create you@example.com',
      columns: {
        id: (operator) => operator.id,
        email: (operator) => operator.email,
        state: (operator) => (operator.disabled ? yellow('disabled') : 'active'),
        created: (operator) => operator.created_at,
      },
    }),
    installation.action({
      name: 'create <EMAIL>',
      summary: `a new operator; ${PASSWORD_SOURCE}`,
      examples: [['gatehook operators create you@example.com', 'prompts for the password']],
      opening: BEFORE_FIRST_START,
      act:
        ({ args: [email = ''] }) =>
        async ({ administration, hasher }) => {
          const body = { email, password: await readPassword(email) }
          return createOperator(administration, hasher, body, cliActor())
        },
      describe: ({ email }) => `Created the operator ${bold(email)}.`,
    }),
    installation.action({
      name: 'password <EMAIL>',
      summary: `a new password, which ends sessions; ${PASSWORD_SOURCE}`,
      examples: [['gatehook operators password you@example.com < secret', 'without a prompt']],
      act:
        ({ args: [email = ''] }) =>
        async ({ administration, hasher }) => {
          const body = { password: await readPassword(email) }
          const change = setOperatorPassword(administration, hasher, email, body, cliActor())
          return requireFound('operator', email, change)
        },
      describe: (_, { args: [email = ''] }) =>
        `Changed. The sessions of ${bold(email)} have ended.`,
    }),
    disabling(true, 'Disabled', {
      name: 'disable <EMAIL>',
      summary: 'ends the sessions; the operator cannot sign in',
      examples: [['gatehook operators disable you@example.com', 'at once, on every node']],
    }),
    disabling(false, 'Enabled', {
      name: 'enable <EMAIL>',
      summary: 'the operator can sign in',
      examples: [['gatehook operators enable you@example.com', 'with the same password']],
    }),
    installation.action({
      name: 'reset-second-factor <EMAIL>',
      summary: 'for a lost device: the next sign-in enrols another one; sessions end',
      examples: [['gatehook operators reset-second-factor you@example.com', 'then send a link']],
      act:
        ({ args: [email = ''] }) =>
        ({ administration }) =>
          requireFound('operator', email, resetSecondFactor(administration, email, cliActor())),
      describe: ({ email }) => `Removed the second factor of ${bold(email)}.`,
    }),
    installation.list({
      name: 'sessions',
      summary: 'sessions of the console',
      examples: [['gatehook operators sessions --json', 'for programs']],
      rows:
        () =>
        ({ db }) =>
          operatorSessionTable.readAll(db),
      empty: 'No operator is signed in.',
      columns: {
        id: (session) => session.id,
        operator: (session) => session.operator ?? 'by link',
        address: (session) => session.address,
        used: (session) => session.last_used_at,
        expires: (session) => session.expires_at,
      },
    }),
    installation.action({
      name: 'end-session <ID>',
      summary: 'ends a session of the console at once',
      examples: [['gatehook operators end-session ses_01k9', 'an id of `operators sessions`']],
      act:
        ({ args: [id = ''] }) =>
        ({ administration }) =>
          requireFound('session', id, endOperatorSession(administration, id, cliActor())),
      describe: ({ id }) => `Ended ${id}.`,
    }),
    installation.action({
      name: 'link [EMAIL]',
      summary: 'a link that opens the console once, within 30 minutes',
      config: ['databaseUrl', 'publicUrl', 'host', 'port'],
      examples: [['gatehook operators link you@example.com', 'for a lost password']],
      act({ args: [email], flags }) {
        const config = readConfig(flags)
        return async ({ administration }) => {
          const link = createConsoleLink(administration, email, cliActor())
          const { path, expires_at } = await requireFound('operator', email ?? '', link)
          return { url: `${publicUrlOf(config, config.port)}${path}`, expires_at }
        }
      },
      describe: ({ url, expires_at }) =>
        `Opens the console once, until ${expires_at}:\n\n  ${url}\n`,
    }),
  ],
}
