/** `gatehook users …`: the acts of §13 on the people who sign in, as HTTP does them. */

import { DEFAULT_CUSTOMER } from '../access/administration.ts'
import type { App } from '../app.ts'
import { listPeople, patchPerson, setPassword } from '../people/acts.ts'
import { createPerson } from '../people/creation.ts'
import type { ActDeps, ShownPerson } from '../people/credential.ts'
import { findById, findByName } from '../people/store.ts'
import { fold } from '../people/username.ts'
import type { CommandSpec, FamilySpec, Input } from './command.ts'
import { everyPage, FIRST, known, engineOptions as options, withApp } from './engine.ts'
import { cliActor, words } from './keys.ts'
import { CommandError, UsageError } from './mistake.ts'
import { bold, dim, table, yellow } from './output.ts'
import { readPassword } from './secret-input.ts'

const caller = () => ({ actor: cliActor(), customer: DEFAULT_CUSTOMER })

/** What the acts take, where somebody signs in to the service at all. */
function actsOf({ people }: App): ActDeps {
  if (people.acts) return people.acts
  throw new CommandError('No resource of this service signs in: none declares .signsIn().')
}

/** The mode that was named, if one was. */
function modeOf({ options: { mode } }: Input): unknown {
  if (mode === undefined || mode === 'live' || mode === 'test') return mode
  throw new UsageError(`--mode is "${mode}"; expected live or test.`)
}

/**
 * `7`, or the sign-in name: both are one person's in the whole service. A mode that is named has to
 * be the person's.
 */
async function idOf(app: App, text: string, mode: unknown): Promise<number> {
  const { resource } = actsOf(app).directory
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : undefined
  if (id !== undefined && mode === undefined) return id
  const account = await (id === undefined
    ? findByName(app.db, resource, fold(text))
    : findById(app.db, resource, id))
  if (!account) throw new CommandError(`Nobody signs in as ${text}.`)
  if (mode === undefined || account.mode === mode) return account.id
  throw new CommandError(`${text} signs in to ${account.mode} data, not to ${mode}.`)
}

async function list(input: Input): Promise<undefined> {
  const mode = modeOf(input)
  const all = await withApp(input, (app) => {
    const { resource } = actsOf(app).directory
    return everyPage((after, limit) => listPeople(app.db, resource, Number(after), limit))
  })
  const people = all.filter((one) => mode === undefined || one.mode === mode)
  input.out.result({ data: people }, () =>
    people.length === 0
      ? 'Nobody can sign in yet. Let somebody: gatehook users create --help'
      : table(
          ['id', 'signs in as', 'customer', 'mode', 'state', 'role', 'scopes'],
          people.map((one) => [
            String(one.id),
            one.username,
            one.customer,
            one.mode,
            one.disabled ? yellow('disabled') : 'active',
            one.role ?? dim('none'),
            one.scopes.join(' '), // last: there may be many
          ]),
        ),
  )
  return
}

/** `amount=5` is a number where the field is one; text stays text. */
function fieldsOf(app: App, pairs: readonly string[]): Record<string, unknown> {
  const { resource } = actsOf(app).directory
  const { fields } = app.service.resources.find((one) => one.name === resource)!
  const entries = pairs.map((pair) => {
    const at = pair.indexOf('=')
    if (at < 1) throw new UsageError(`"${pair}" is no field; write name=value.`)
    const [name, text] = [pair.slice(0, at), pair.slice(at + 1)]
    const plain = /^(string|email|url|currency|oneOf|time)$/.test(fields[name]?.kind ?? 'string')
    return [name, plain ? text : jsonValue(text)]
  })
  return Object.fromEntries(entries)
}

function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text // refused by the field, in its own words
  }
}

async function create(input: Input): Promise<undefined> {
  const { role, customer, mode } = input.options
  const scopes = input.options.scopes === undefined ? undefined : words(input.options.scopes)
  const pairs = [input.args[0] ?? []].flat()
  const person = await withApp(
    input,
    async (app) => {
      const acts = actsOf(app)
      const fields = fieldsOf(app, pairs)
      const name = String(fields[acts.directory.username] ?? 'the new account')
      const wish = { role, customer, mode, scopes, password: await readPassword(name) }
      return createPerson(app.administration, acts, { ...fields, ...wish }, caller())
    },
    FIRST,
  )
  input.out.result(person, () => `Created ${bold(String(person.id))}, who can sign in now.`)
  return
}

async function password(input: Input): Promise<undefined> {
  const whose = input.args[0] ?? ''
  const mode = modeOf(input)
  const id = await withApp(input, async (app) => {
    const id = await idOf(app, whose, mode)
    const body = { password: await readPassword(whose) }
    await known('person', whose, setPassword(app.administration, actsOf(app), id, body, caller()))
    return id
  })
  input.out.result({ id }, () => `Changed. The sessions of ${bold(whose)} have ended.`)
  return
}

const patch =
  (change: (input: Input) => Record<string, unknown>, said: (person: ShownPerson) => string) =>
  async (input: Input): Promise<undefined> => {
    const whose = input.args[0] ?? ''
    const mode = modeOf(input)
    const person = await withApp(input, async (app) => {
      const id = await idOf(app, whose, mode)
      const act = patchPerson(app.administration, actsOf(app), id, change(input), caller())
      return known('person', whose, act)
    })
    input.out.result(person, () => said(person))
    return
  }

/** What of role and scopes was named. */
function wished({ options: { role, scopes } }: Input): Record<string, unknown> {
  if (role === undefined && scopes === undefined) {
    throw new UsageError('Say what changes: --role or --scopes.')
  }
  return {
    ...(role !== undefined && { role: role === 'none' ? null : role }),
    ...(scopes !== undefined && { scopes: words(scopes) }),
  }
}

const modeOption = ['--mode <MODE>', 'only of live or test (default: either)'] as const
const config: CommandSpec['config'] = ['databaseUrl']
const stdin = 'the password is read from standard input, or typed at a terminal'
const roleOption = ['--role <ROLE>', 'what they are, as tokens say it'] as const
const scopesOption = [
  '--scopes <SCOPES...>',
  'what they may do (default: all but other’s)',
] as const

export const people: FamilySpec = {
  name: 'users',
  summary: 'people who sign in: list, create, password, update, disable, enable',
  commands: [
    {
      name: 'list',
      summary: 'who can sign in',
      options: [...options, modeOption],
      config,
      examples: [['gatehook users list --json', 'for programs']],
      run: list,
    },
    {
      name: 'create <FIELDS...>',
      summary: `a new person; ${stdin}`,
      options: [
        ...options,
        roleOption,
        scopesOption,
        ['--customer <ID>', 'whose person it is (default: default)'],
        ['--mode <MODE>', 'live (default) or test'],
      ],
      config,
      examples: [
        ['gatehook users create name=Ada email=ada@example.com', 'asks for the password'],
        ['gatehook users create name=Bo email=bo@example.com --mode test < secret', 'asks nobody'],
      ],
      run: create,
    },
    {
      name: 'password <WHO>',
      summary: `a new password by id or sign-in name, which ends sessions; ${stdin}`,
      options: [...options, modeOption],
      config,
      examples: [['gatehook users password ada@example.com', 'signed out within 2 seconds']],
      run: password,
    },
    {
      name: 'update <WHO>',
      summary: 'another role, other scopes',
      options: [...options, modeOption, roleOption, scopesOption],
      config,
      examples: [['gatehook users update ada@example.com --role none', 'takes the role away']],
      run: patch(wished, (one) => `Changed ${bold(String(one.id))}.`),
    },
    {
      name: 'disable <WHO>',
      summary: 'they cannot sign in, and their sessions end',
      options: [...options, modeOption],
      config,
      examples: [['gatehook users disable 7', 'nothing is deleted']],
      run: patch(
        () => ({ disabled: true }),
        (one) => `Disabled ${bold(String(one.id))}.`,
      ),
    },
    {
      name: 'enable <WHO>',
      summary: 'they can sign in again',
      options: [...options, modeOption],
      config,
      examples: [['gatehook users enable ada@example.com', 'with the password they had']],
      run: patch(
        () => ({ disabled: false }),
        (one) => `Enabled ${bold(String(one.id))}.`,
      ),
    },
  ],
}
