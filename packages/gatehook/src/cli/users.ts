/** `gatehook users …`: the acts of §13 on the people who sign in, as HTTP does them. */
import type { App } from '../app.ts'
import { patchPerson, setPassword } from '../people/acts.ts'
import { accountRows } from '../people/collection.ts'
import { createPerson } from '../people/creation.ts'
import type { ActDeps } from '../people/credential.ts'
import { findById, findByName } from '../people/store.ts'
import { fold } from '../people/username.ts'
import type { About, FamilySpec, Input } from './command.ts'
import { cliCaller, engine, FIRST, known } from './engine.ts'
import { CommandError, UsageError } from './mistake.ts'
import { bold, dim, yellow } from './output.ts'
import { PASSWORD_FROM, readPassword } from './secret-input.ts'
import { words } from './typed.ts'

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
const roleOption = ['--role <ROLE>', 'what they are, as tokens say it'] as const
const scopesOption = [
  '--scopes <SCOPES...>',
  'what they may do (default: all but other’s)',
] as const

/** A command that changes a person by `change`; `said` before its id. */
const changing = (
  change: (input: Input) => Record<string, unknown>,
  said: string,
  { options = [], ...about }: About,
) =>
  engine.act({
    ...about,
    options: [modeOption, ...options],
    act(input) {
      const [whose = ''] = input.args
      const mode = modeOf(input)
      return async (app) => {
        const id = await idOf(app, whose, mode)
        const act = patchPerson(app.administration, actsOf(app), id, change(input), cliCaller())
        return known('person', whose, act)
      }
    },
    said: ({ id }) => `${said} ${bold(String(id))}.`,
  })

export const people: FamilySpec = {
  name: 'users',
  summary: 'people who sign in: list, create, password, update, disable, enable',
  commands: [
    engine.list({
      name: 'list',
      summary: 'who can sign in',
      options: [modeOption],
      examples: [['gatehook users list --json', 'for programs']],
      rows(input) {
        const mode = modeOf(input)
        return async (app) => {
          const all = await accountRows(actsOf(app).directory.resource).readAll(app.db)
          return all.filter((one) => mode === undefined || one.mode === mode)
        }
      },
      none: 'Nobody can sign in yet. Let somebody: gatehook users create --help',
      columns: {
        id: (one) => String(one.id),
        'signs in as': (one) => one.username,
        customer: (one) => one.customer,
        mode: (one) => one.mode,
        state: (one) => (one.disabled ? yellow('disabled') : 'active'),
        role: (one) => one.role ?? dim('none'),
        scopes: (one) => one.scopes.join(' '), // last: there may be many
      },
    }),
    engine.act({
      name: 'create <FIELDS...>',
      summary: `a new person; ${PASSWORD_FROM}`,
      options: [
        roleOption,
        scopesOption,
        ['--customer <ID>', 'whose person it is (default: default)'],
        ['--mode <MODE>', 'live (default) or test'],
      ],
      examples: [
        ['gatehook users create name=Ada email=ada@example.com', 'asks for the password'],
        ['gatehook users create name=Bo email=bo@example.com --mode test < secret', 'asks nobody'],
      ],
      opening: FIRST,
      act:
        ({ args: [pairs], options: { role, customer, mode, scopes } }) =>
        async (app) => {
          const acts = actsOf(app)
          const fields = fieldsOf(app, [pairs ?? []].flat())
          const name = String(fields[acts.directory.username] ?? 'the new account')
          const wish = {
            role,
            customer,
            mode,
            scopes: scopes === undefined ? undefined : words(scopes),
            password: await readPassword(name),
          }
          return createPerson(app.administration, acts, { ...fields, ...wish }, cliCaller())
        },
      said: ({ id }) => `Created ${bold(String(id))}, who can sign in now.`,
    }),
    engine.act({
      name: 'password <WHO>',
      summary: `a new password by id or sign-in name, which ends sessions; ${PASSWORD_FROM}`,
      options: [modeOption],
      examples: [['gatehook users password ada@example.com', 'signed out within 2 seconds']],
      act(input) {
        const [whose = ''] = input.args
        const mode = modeOf(input)
        return async (app) => {
          const id = await idOf(app, whose, mode)
          const body = { password: await readPassword(whose) }
          const act = setPassword(app.administration, actsOf(app), id, body, cliCaller())
          await known('person', whose, act)
          return { id }
        }
      },
      said: (_, { args: [whose = ''] }) => `Changed. The sessions of ${bold(whose)} have ended.`,
    }),
    changing(wished, 'Changed', {
      name: 'update <WHO>',
      summary: 'another role, other scopes',
      options: [roleOption, scopesOption],
      examples: [['gatehook users update ada@example.com --role none', 'takes the role away']],
    }),
    changing(() => ({ disabled: true }), 'Disabled', {
      name: 'disable <WHO>',
      summary: 'they cannot sign in, and their sessions end',
      examples: [['gatehook users disable 7', 'nothing is deleted']],
    }),
    changing(() => ({ disabled: false }), 'Enabled', {
      name: 'enable <WHO>',
      summary: 'they can sign in again',
      examples: [['gatehook users enable ada@example.com', 'with the password they had']],
    }),
  ],
}
