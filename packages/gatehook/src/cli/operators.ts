/** `gatehook operators …`: who may use the console (§12.2). */

import { publicUrlOf } from '../config/config.ts'
import {
  createConsoleLink,
  createOperator,
  listOperators,
  setOperatorDisabled,
  setOperatorPassword,
} from '../people/operators.ts'
import type { CommandSpec, FamilySpec, Input } from './command.ts'
import { everyPage, FIRST, known, engineOptions as options, withApp } from './engine.ts'
import { cliActor } from './keys.ts'
import { bold, table, yellow } from './output.ts'
import { readPassword } from './secret-input.ts'

async function list(input: Input): Promise<undefined> {
  const operators = await withApp(input, ({ db }) =>
    everyPage((after, limit) => listOperators(db, after, limit)),
  )
  input.out.result({ data: operators }, () =>
    operators.length === 0
      ? 'There are no operators. Make one: gatehook operators create you@example.com'
      : table(
          ['id', 'email', 'state', 'created'],
          operators.map((one) => [
            one.id,
            one.email,
            one.disabled ? yellow('disabled') : 'active',
            one.created_at,
          ]),
        ),
  )
  return
}

async function create(input: Input): Promise<undefined> {
  const email = input.args[0] ?? ''
  const operator = await withApp(
    input,
    async ({ administration, hasher }) => {
      const wish = { email, password: await readPassword(email) }
      return createOperator(administration, hasher, wish, cliActor())
    },
    FIRST,
  )
  input.out.result(operator, () => `Created the operator ${bold(operator.email)}.`)
  return
}

async function password(input: Input): Promise<undefined> {
  const email = input.args[0] ?? ''
  const operator = await withApp(input, async ({ administration, hasher }) => {
    const wish = { password: await readPassword(email) }
    const act = setOperatorPassword(administration, hasher, email, wish, cliActor())
    return known('operator', email, act)
  })
  input.out.result(operator, () => `Changed. The sessions of ${bold(email)} have ended.`)
  return
}

const disable =
  (disabled: boolean, said: string) =>
  async (input: Input): Promise<undefined> => {
    const email = input.args[0] ?? ''
    const operator = await withApp(input, ({ administration }) =>
      known('operator', email, setOperatorDisabled(administration, email, disabled, cliActor())),
    )
    input.out.result(operator, () => `${said} ${bold(operator.email)}.`)
    return
  }

async function link(input: Input): Promise<undefined> {
  const email = input.args[0]
  const made = await withApp(input, async ({ administration }, config) => {
    const act = createConsoleLink(administration, email, cliActor())
    const { path, expires_at } = await known('operator', email ?? '', act)
    return { url: `${publicUrlOf(config, config.port)}${path}`, expires_at }
  })
  input.out.result(
    made,
    () => `Opens the console once, until ${made.expires_at}:\n\n  ${made.url}\n`,
  )
  return
}

const config: CommandSpec['config'] = ['databaseUrl']
const stdin = 'the password is read from standard input, or typed at a terminal'

export const operators: FamilySpec = {
  name: 'operators',
  summary: 'who uses the console: list, create, password, disable, enable, link',
  commands: [
    {
      name: 'list',
      summary: 'all operators',
      options,
      config,
      examples: [['gatehook operators list --json', 'for programs']],
      run: list,
    },
    {
      name: 'create <EMAIL>',
      summary: `a new operator; ${stdin}`,
      options,
      config,
      examples: [['gatehook operators create you@example.com', 'asks for the password']],
      run: create,
    },
    {
      name: 'password <EMAIL>',
      summary: `a new password, which ends sessions; ${stdin}`,
      options,
      config,
      examples: [['gatehook operators password you@example.com < secret', 'asks nobody']],
      run: password,
    },
    {
      name: 'disable <EMAIL>',
      summary: 'ends their sessions; they cannot sign in',
      options,
      config,
      examples: [['gatehook operators disable you@example.com', 'at once, on every node']],
      run: disable(true, 'Disabled'),
    },
    {
      name: 'enable <EMAIL>',
      summary: 'they can sign in again',
      options,
      config,
      examples: [['gatehook operators enable you@example.com', 'with the password they had']],
      run: disable(false, 'Enabled'),
    },
    {
      name: 'link [EMAIL]',
      summary: 'a link that opens the console once, within 30 minutes',
      options,
      config: ['databaseUrl', 'publicUrl', 'host', 'port'],
      examples: [['gatehook operators link you@example.com', 'for who forgot the password']],
      run: link,
    },
  ],
}
