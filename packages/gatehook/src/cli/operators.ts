/** `gatehook operators …`: who may use the console (§12.2). */
import { publicUrlOf } from '../config/config.ts'
import { readConfig } from '../config/environment.ts'
import { operatorRows } from '../people/collection.ts'
import { endOperatorSession, operatorSessionRows } from '../people/operator-sessions.ts'
import {
  createConsoleLink,
  createOperator,
  setOperatorDisabled,
  setOperatorPassword,
} from '../people/operators.ts'
import { resetSecondFactor } from '../people/second-factor.ts'
import type { About, FamilySpec } from './command.ts'
import { cliActor, engine, FIRST, known } from './engine.ts'
import { bold, yellow } from './output.ts'
import { PASSWORD_FROM, readPassword } from './secret-input.ts'

/** A command that disables an operator or ends that; `said` before its e-mail. */
const disabling = (disabled: boolean, said: string, about: About) =>
  engine.act({
    ...about,
    act:
      ({ args: [email = ''] }) =>
      ({ administration }) =>
        known('operator', email, setOperatorDisabled(administration, email, disabled, cliActor())),
    said: ({ email }) => `${said} ${bold(email)}.`,
  })

export const operators: FamilySpec = {
  name: 'operators',
  summary: 'who uses the console: accounts, links, sessions, second factors',
  commands: [
    engine.list({
      name: 'list',
      summary: 'all operators',
      examples: [['gatehook operators list --json', 'for programs']],
      rows:
        () =>
        ({ db }) =>
          operatorRows.readAll(db),
      none: 'There are no operators. Make one: gatehook operators create you@example.com',
      columns: {
        id: (one) => one.id,
        email: (one) => one.email,
        state: (one) => (one.disabled ? yellow('disabled') : 'active'),
        created: (one) => one.created_at,
      },
    }),
    engine.act({
      name: 'create <EMAIL>',
      summary: `a new operator; ${PASSWORD_FROM}`,
      examples: [['gatehook operators create you@example.com', 'asks for the password']],
      opening: FIRST,
      act:
        ({ args: [email = ''] }) =>
        async ({ administration, hasher }) => {
          const wish = { email, password: await readPassword(email) }
          return createOperator(administration, hasher, wish, cliActor())
        },
      said: ({ email }) => `Created the operator ${bold(email)}.`,
    }),
    engine.act({
      name: 'password <EMAIL>',
      summary: `a new password, which ends sessions; ${PASSWORD_FROM}`,
      examples: [['gatehook operators password you@example.com < secret', 'asks nobody']],
      act:
        ({ args: [email = ''] }) =>
        async ({ administration, hasher }) => {
          const wish = { password: await readPassword(email) }
          const act = setOperatorPassword(administration, hasher, email, wish, cliActor())
          return known('operator', email, act)
        },
      said: (_, { args: [email = ''] }) => `Changed. The sessions of ${bold(email)} have ended.`,
    }),
    disabling(true, 'Disabled', {
      name: 'disable <EMAIL>',
      summary: 'ends their sessions; they cannot sign in',
      examples: [['gatehook operators disable you@example.com', 'at once, on every node']],
    }),
    disabling(false, 'Enabled', {
      name: 'enable <EMAIL>',
      summary: 'they can sign in again',
      examples: [['gatehook operators enable you@example.com', 'with the password they had']],
    }),
    engine.act({
      name: 'reset-second-factor <EMAIL>',
      summary: 'for who lost the device: they enrol anew at the next sign-in; sessions end',
      examples: [['gatehook operators reset-second-factor you@example.com', 'then send a link']],
      act:
        ({ args: [email = ''] }) =>
        ({ administration }) =>
          known('operator', email, resetSecondFactor(administration, email, cliActor())),
      said: ({ email }) => `Removed the second factor of ${bold(email)}.`,
    }),
    engine.list({
      name: 'sessions',
      summary: 'sessions of the console',
      examples: [['gatehook operators sessions --json', 'for programs']],
      rows:
        () =>
        ({ db }) =>
          operatorSessionRows.readAll(db),
      none: 'No operator is signed in.',
      columns: {
        id: (one) => one.id,
        operator: (one) => one.operator ?? 'by link',
        address: (one) => one.address,
        used: (one) => one.last_used_at,
        expires: (one) => one.expires_at,
      },
    }),
    engine.act({
      name: 'end-session <ID>',
      summary: 'ends a session of the console at once',
      examples: [['gatehook operators end-session ses_01k9', 'as `operators sessions` lists it']],
      act:
        ({ args: [id = ''] }) =>
        ({ administration }) =>
          known('session', id, endOperatorSession(administration, id, cliActor())),
      said: ({ id }) => `Ended ${id}.`,
    }),
    engine.act({
      name: 'link [EMAIL]',
      summary: 'a link that opens the console once, within 30 minutes',
      config: ['databaseUrl', 'publicUrl', 'host', 'port'],
      examples: [['gatehook operators link you@example.com', 'for who forgot the password']],
      act({ args: [email], flags }) {
        const config = readConfig(flags)
        return async ({ administration }) => {
          const act = createConsoleLink(administration, email, cliActor())
          const { path, expires_at } = await known('operator', email ?? '', act)
          return { url: `${publicUrlOf(config, config.port)}${path}`, expires_at }
        }
      },
      said: ({ url, expires_at }) => `Opens the console once, until ${expires_at}:\n\n  ${url}\n`,
    }),
  ],
}
