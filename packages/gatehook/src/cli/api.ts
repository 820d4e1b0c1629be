/**
 * The API as a command calls it. With `--url` or `GATEHOOK_API_KEY`: a running node, over HTTP.
 * Without: the database this folder's configuration names, in this process, by the same handlers,
 * with a key lent for the length of the command.
 */

import type { Administration } from '../access/administration.ts'
import { createKey, revokeKey } from '../access/keys.ts'
import type { App } from '../app.ts'
import { publicUrlOf } from '../config/config.ts'
import { environmentKey, readConfig } from '../config/environment.ts'
import type { OptionName } from '../config/options.ts'
import { isoTime } from '../kernel/time.ts'
import type { ServiceDefinition } from '../resources/service.ts'
import type { CommandSpec, Input } from './command.ts'
import { cliActor, cliCaller, engineOptions, withApp } from './engine.ts'

import { serviceOf } from './load.ts'
import { CommandError } from './mistake.ts'
import { type Ask, messageOf, type Reply, remoteAsk } from './remote.ts'
import { commandsWith } from './runner.ts'

/** Options of every command that calls the API. */
export const apiOptions: NonNullable<CommandSpec['options']> = [
  ...engineOptions,
  ['--url <URL>', 'a running node, with the key in GATEHOOK_API_KEY (default: this database)'],
  ['--mode <MODE>', 'test (default) or live, where no key is given'],
  ['--customer <ID>', 'whose data (default: default), where no key is given'],
]

export interface Api {
  readonly service: ServiceDefinition
  /** The answer's body; throws a `CommandError` with what the API says where it refuses. */
  call(method: string, path: string, body?: unknown): Promise<Reply['body']>
}

const LOAN_MS = 24 * 3_600_000

interface Loan {
  readonly id: string
  readonly key: string
}

/** The acts on keys, of which no receiver is told: a loan would be noise in what it shows. */
const quietly = ({ administration: { record: _, ...silent } }: App): Administration => silent

/** A key that only this command has. It ends by itself where the command cannot give it back. */
async function lend(app: App, input: Input, scopes?: readonly string[]): Promise<Loan> {
  const administration = quietly(app)
  const all = [...administration.scopes].filter((scope) => scope !== 'admin')
  const wish = {
    name: 'gatehook command line',
    scopes: scopes ?? all,
    mode: input.options.mode ?? 'test',
    customer: input.options.customer,
    expires_at: isoTime(administration.clock.now() + LOAN_MS),
  }
  return createKey(administration, wish, cliCaller())
}

const giveBack = (app: App, { id }: Loan) => revokeKey(quietly(app), id, { actor: cliActor() })

/** Where a running node is, and the key for it that was given, if one was. */
export function nodeOf(input: Input): { url: string; key: string | undefined } {
  const config = readConfig(input.flags)
  const url = String(input.options.url ?? publicUrlOf(config, config.port)).replace(/\/+$/, '')
  if (!/^https?:\/\/[^/]+/.test(url)) throw new CommandError(`--url "${url}" is no http(s) URL.`)
  return { url, key: environmentKey() }
}

/** A key for a running node: the one given, or one lent from the database both share. */
export async function borrowKey(
  input: Input,
  scopesOf: (service: ServiceDefinition) => readonly string[],
): Promise<{ key: string; giveBack: () => Promise<void> }> {
  const { key } = nodeOf(input)
  if (key !== undefined) return { key, giveBack: async () => undefined }
  if (input.options.url !== undefined) throw new CommandError('Set GATEHOOK_API_KEY for --url.')
  const loan = await withApp(input, (app) => lend(app, input, scopesOf(app.service)))
  return { key: loan.key, giveBack: () => withApp(input, (app) => giveBack(app, loan)) }
}

/** Calls the API as long as `use` runs. */
async function withApi<T>(input: Input, use: (api: Api) => Promise<T> | T): Promise<T> {
  const { url, key } = nodeOf(input)
  if (key !== undefined || input.options.url !== undefined) {
    if (key === undefined) throw new CommandError('Set GATEHOOK_API_KEY for --url.')
    const service = await serviceOf(input)
    return use(apiOf(service.definition, remoteAsk(url, key)))
  }
  return withApp(input, async (app) => {
    const loan = await lend(app, input)
    try {
      return await use(apiOf(app.service, localAsk(app, loan.key)))
    } finally {
      await giveBack(app, loan)
    }
  })
}

/** Commands that call the API. `more`: what its node is configured by, for their help. */
export const apiCommands = (...more: readonly OptionName[]) =>
  commandsWith(withApi, {
    options: apiOptions,
    config: ['databaseUrl', 'host', 'port', ...more],
  })

function localAsk(app: App, key: string): Ask {
  return async (method, path, body) => {
    const reply = await app.inject({
      method: method as 'GET',
      url: path,
      headers: {
        host: 'localhost',
        'x-api-key': key,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    })
    return { status: reply.statusCode, body: reply.body === '' ? undefined : reply.json() }
  }
}

const thing: Readonly<Record<string, string>> = {
  webhooks: 'registration',
  deliveries: 'delivery',
  events: 'event',
}

/** What a 404 means to whoever typed an id. Rows of another customer or mode are a 404, too. */
function missing(path: string): string {
  const [, room = '', id] = path.split(/[/?]/)
  if (thing[room] === undefined || !id) return `There is nothing at ${path}.`
  return `There is no ${thing[room]} ${decodeURIComponent(id)} in this mode of this customer.`
}

const apiOf = (service: ServiceDefinition, ask: Ask): Api => ({
  service,
  async call(method, path, body) {
    const reply = await ask(method, path, body)
    if (reply.status < 400) return reply.body
    if (reply.status === 404) throw new CommandError(missing(path))
    throw new CommandError(messageOf(reply.body, reply.status))
  },
})

const PAGE = 100

/** Rows of a list, at most `most`, page by page. */
export async function listed(api: Api, path: string, most: number): Promise<Reply['body'][]> {
  const rows: Reply['body'][] = []
  let cursor: string | null = null
  do {
    const limit = `limit=${Math.min(PAGE, most - rows.length)}`
    const query: string = cursor === null ? limit : `${limit}&cursor=${cursor}`
    const page = await api.call('GET', `${path}${path.includes('?') ? '&' : '?'}${query}`)
    rows.push(...page.data)
    cursor = page.next_cursor
  } while (cursor !== null && rows.length < most)
  return rows
}
