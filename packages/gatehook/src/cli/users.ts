/** `gatehook users …`: the people who sign in (§13). */

import type { ResourceDefinition } from '../declare/resources/resource.ts'
import { type AccountJson, account } from '../identity/people/collection.ts'
import { personOperations } from '../identity/people/operations.ts'
import { type SessionJson, session } from '../identity/tokens/operations.ts'
import { personErasureOperations } from '../operate/erasure/operations.ts'
import { fieldKindOf } from '../protocol/fields/kinds/table.ts'
import { type Api, administration, invalidMode, urlOption } from './api.ts'
import type { CommandDescription, CommandFamily, CommandSpec, Input } from './command.ts'
import { CommandError, UsageError } from './errors.ts'
import { printExport } from './export-lines.ts'
import { cliActor, installationOptions } from './installation.ts'
import { ANY_SERVICE, operationCommand } from './operation-command.ts'
import { bold } from './output.ts'
import { withCustomerId } from './owner.ts'
import { PASSWORD_SOURCE, readPassword } from './password-input.ts'

/** Returns the resource whose rows sign in. Throws `CommandError` if the service has none. */
function signInResource({ service }: Api): ResourceDefinition {
  const resource = service.resources.find(({ signsIn }) => signsIn)
  if (resource) return resource
  throw new CommandError('No resource of this service signs in: none declares .signsIn().')
}

/** The filters of `/admin/users` by customer and mode. */
interface PlaceFilter {
  readonly customer?: string
  readonly mode?: string
}

/** Reads `--customer` and `--mode`. */
function placeOf({ options: { customer, mode } }: Input): PlaceFilter {
  if (mode !== undefined && mode !== 'live' && mode !== 'test') throw invalidMode(mode)
  return {
    ...(customer !== undefined && { customer: String(customer) }),
    ...(mode !== undefined && { mode }),
  }
}

const listPath = (filter: Readonly<Record<string, string>>): string =>
  `/admin/users?${new URLSearchParams(filter)}`

/**
 * Returns the id of the person with an id or a sign-in name. Throws `CommandError` for an unknown
 * name, for one that several people have, and for a person of the other mode.
 */
async function personId(api: Api, text: string, place: PlaceFilter): Promise<number> {
  signInResource(api)
  const isId = /^[1-9]\d{0,15}$/.test(text)
  if (isId && Object.keys(place).length === 0) return Number(text)
  const { mode, ...anyMode } = { ...place, ...(isId ? { id: text } : { username: text }) }
  const accounts = await api.list(listPath({ ...anyMode, ...(mode && { mode }) }), 2)
  if (accounts.length > 1) {
    throw new CommandError(
      `${text} signs in for more than one customer or mode. Add --customer and --mode, or name ` +
        'the person by its id: gatehook users list',
    )
  }
  if (accounts[0]) return accounts[0].id
  const [other] = mode === undefined ? [] : await api.list(listPath(anyMode), 1)
  if (other) throw new CommandError(`${text} signs in to ${other.mode} data, not to ${mode}.`)
  const advice = isId ? '' : ' Name a row without a password by its id.'
  throw new CommandError(`No person signs in as ${text}.${advice}`)
}

/** Parses `name=value` pairs: JSON where the field is not text. */
function rowOf({ fields }: ResourceDefinition, pairs: readonly string[]): Record<string, unknown> {
  const entries = pairs.map((pair) => {
    const at = pair.indexOf('=')
    if (at < 1) throw new UsageError(`"${pair}" is no field; write name=value.`)
    const [name, text] = [pair.slice(0, at), pair.slice(at + 1)]
    const spec = fields[name]
    const isJson = spec !== undefined && fieldKindOf(spec).json !== 'string'
    return [name, isJson ? jsonOrText(text) : text]
  })
  return Object.fromEntries(entries)
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text // the API rejects it with a message of the field
  }
}

const pathOf = (id: number, suffix = '') => `/admin/users/${id}${suffix}`

const placeOptions = [
  ['--customer <CUSTOMER>', 'only of this customer, by id or name (default: any)'],
  ['--mode <MODE>', 'only of live or test (default: either)'],
] as const

const operations = personOperations(ANY_SERVICE, {})
const role = { meaning: 'the role in their tokens' }
const scopes = {
  meaning: 'their scopes (default: those of .signsIn(), else own rows and owned rows)',
}

/** The id of a person is found by `--customer` and `--mode`. */
const idOf = (api: Api, person: string, input: Input) => personId(api, person, placeOf(input))

/** A command that disables or enables. */
const setDisabled = (disabled: boolean, verb: string, description: CommandDescription) =>
  operationCommand(administration, {
    ...description,
    operation: operations.update,
    body: { disabled },
    options: placeOptions,
    idOf,
    describe: ({ id }) => `${verb} ${bold(String(id))}.`,
  })

const exportCommand: CommandSpec = {
  name: 'export <PERSON>',
  summary: 'prints all data of a person, one JSON object in a line',
  description:
    'Prints the row of the person, rows that belong to it, their events, inputs of jobs, ' +
    'sessions and requests as {"table", "row"}, without credentials, hashes and secrets. The ' +
    'audit trail records it.',
  options: [...installationOptions, urlOption, ...placeOptions],
  config: ['databaseUrl'],
  examples: [['gatehook users export ada@example.com > ada.ndjson', 'before an erasure']],
  async run(input) {
    const [person = ''] = input.args
    const find = async (api: Api) =>
      personId(api, person, placeOf(await withCustomerId(api, input)))
    await printExport(input, {
      pathOf: async (api) => pathOf(await find(api)),
      readLocal: async (app, api) => app.erasure.exportPerson!(await find(api), cliActor()),
    })
    return undefined
  },
}

export const people: CommandFamily = {
  name: 'users',
  summary:
    'people who sign in: list, create, password, update, disable, enable, sessions, export, erase',
  commands: [
    administration.list({
      name: 'list',
      summary: 'people who can sign in',
      options: placeOptions,
      examples: [['gatehook users list --json', 'for programs']],
      parse: placeOf,
      rows(api, _input, place): Promise<AccountJson[]> {
        signInResource(api)
        return api.list(listPath({ sort: 'id', ...place }))
      },
      empty: 'No person can sign in yet. Create one: gatehook users create --help',
      columns: account,
    }),
    operationCommand(administration, {
      name: 'create <FIELDS...>',
      summary: `a new person; ${PASSWORD_SOURCE}`,
      operation: operations.create,
      words: { role, scopes, password: false },
      examples: [
        ['gatehook users create name=Ada email=ada@example.com', 'prompts for the password'],
        [
          'gatehook users create name=Bo email=bo@example.com --mode test < secret',
          'without a prompt',
        ],
      ],
      async complete(body, api, { args: [pairs] }) {
        const resource = signInResource(api)
        const row = rowOf(resource, [pairs ?? []].flat())
        const name = String(row[resource.signsIn!.username] ?? 'the new account')
        return { ...row, ...body, password: await readPassword(name) }
      },
      describe: ({ id }) => `Created ${bold(String(id))}, who can sign in now.`,
    }),
    operationCommand(administration, {
      name: 'password <PERSON>',
      summary: `a new password by id or sign-in name, which ends sessions; ${PASSWORD_SOURCE}`,
      operation: operations.setPassword,
      words: { password: false },
      options: placeOptions,
      examples: [['gatehook users password ada@example.com', 'signed out within 2 seconds']],
      idOf,
      complete: async (_body, _api, { args: [person = ''] }) => ({
        password: await readPassword(person),
      }),
      resultOf: (_, id) => ({ id: Number(id) }),
      describe: (_, { args: [person = ''] }) =>
        `Changed. The sessions of ${bold(person)} have ended.`,
    }),
    operationCommand(administration, {
      name: 'update <PERSON>',
      summary: 'changes role, scopes or identities',
      operation: operations.update,
      words: { role, scopes, disabled: false },
      options: placeOptions,
      examples: [['gatehook users update ada@example.com --role none', 'removes the role']],
      idOf,
      describe: ({ id }) => `Changed ${bold(String(id))}.`,
    }),
    setDisabled(true, 'Disabled', {
      name: 'disable <PERSON>',
      summary: 'ends their sessions; they cannot sign in',
      examples: [['gatehook users disable 7', 'deletes no data']],
    }),
    setDisabled(false, 'Enabled', {
      name: 'enable <PERSON>',
      summary: 'they can sign in',
      examples: [['gatehook users enable ada@example.com', 'with the same password']],
    }),
    administration.list({
      name: 'sessions <PERSON>',
      summary: 'sessions of a person, by id or sign-in name',
      options: placeOptions,
      examples: [['gatehook users sessions ada@example.com --json', 'for programs']],
      parse: placeOf,
      rows: async (api, { args: [person = ''] }, place): Promise<SessionJson[]> =>
        api.list(pathOf(await personId(api, person, place), '/sessions')),
      empty: 'The person has no session.',
      columns: session,
    }),
    administration.action({
      name: 'end-sessions <PERSON> [ID]',
      summary: 'ends every session of a person, or the one with an id',
      options: placeOptions,
      examples: [
        ['gatehook users end-sessions ada@example.com', 'signed out within 2 seconds'],
        ['gatehook users end-sessions 7 ses_01k9', 'an id of the list'],
      ],
      parse: placeOf,
      async act(api, { args: [person = '', session] }, place) {
        const id = await personId(api, person, place)
        const suffix = session === undefined ? '' : `/${encodeURIComponent(session)}`
        await api.request('DELETE', pathOf(id, `/sessions${suffix}`))
        return { id, session: session ?? null }
      },
      describe: ({ session }, { args: [person = ''] }) =>
        session === null ? `Ended. ${bold(person)} has no session now.` : `Ended ${bold(session)}.`,
    }),
    exportCommand,
    operationCommand<{ id: number; job_id: string }>(administration, {
      name: 'erase <PERSON>',
      summary: 'erases the personal data of a person, for good',
      description:
        'The credential and the sessions end within 2 s. A running node erases the sign-in name ' +
        'and the fields with .personal() in the background; the rows stay. Name a row without a ' +
        'password by its id.',
      operation: personErasureOperations.erasePerson,
      options: [...placeOptions, ['--force', 'required: what is erased cannot return']],
      examples: [['gatehook users erase ada@example.com --force', 'after gatehook users export']],
      async idOf(api, person, input) {
        const id = await personId(api, person, placeOf(input))
        if (input.options.force === true) return id
        throw new UsageError('This erases the data of the person, for good: add --force.')
      },
      describe: ({ id, job_id }) =>
        `${bold(String(id))} is being erased: gatehook jobs show ${job_id}`,
    }),
  ],
}
