/**
 * The HTTP API as commands call it. With `--url`, a request goes to a running node. Without it, the
 * command opens the local installation without a port and sends the same request in its process.
 */
import { userInfo } from 'node:os'
import type { App } from '../app.ts'
import { listScopes } from '../declare/resources/scopes.ts'
import type { ServiceDefinition } from '../declare/resources/service.ts'
import { DEFAULT_CUSTOMER } from '../identity/access/administration.ts'
import { keyCreation } from '../identity/access/key-members.ts'
import { createKey, revokeKey } from '../identity/access/keys.ts'
import { findCustomer } from '../identity/access/store.ts'
import { generateApiKey } from '../kernel/api-key-format.ts'
import { wallClock } from '../kernel/clock.ts'
import { type Principal, scopeOf } from '../kernel/principal.ts'
import { systemRandom } from '../kernel/random.ts'
import { isoTime } from '../kernel/time.ts'
import { publicUrlOf } from '../platform/config/config.ts'
import { environmentKey } from '../platform/config/environment.ts'
import type { OptionName } from '../platform/config/options.ts'
import { readMembers } from '../protocol/fields/body.ts'
import { type CommandOption, commandsOn, configOf, type Input } from './command.ts'
import { CommandError, EXIT, UsageError } from './errors.ts'
import {
  type ApiResponse,
  idempotencyHeaders,
  type JsonBody,
  messagesOf,
  REPLAYED_HEADER,
  remoteSender,
  type SendRequest,
} from './http-client.ts'
import { cliActor, cliCaller, installationOptions, type Opening, withApp } from './installation.ts'
import { type Owner, ownerOf, withCustomerId } from './owner.ts'
import { serviceOf } from './service-file.ts'

export interface Api {
  readonly service: ServiceDefinition
  /** Resolves with the body of the response. Throws `ApiError`. */
  request<T = JsonBody>(method: string, path: string, body?: unknown): Promise<T>
  /**
   * Sends a POST; a repeat with its key gets the response of the first, in any version. Throws
   * `ApiError`.
   */
  postOnce(path: string, body: unknown, idempotencyKey: string): Promise<ApiResponse>
  /** Resolves with at most `max` rows of a list, page by page. */
  list(path: string, max?: number): Promise<JsonBody[]>
  /** The data that requests read, for sentences. */
  readonly place: string
  /** Whether this process sends to receivers, and private addresses are not allowed. */
  readonly refusesPrivate: boolean
  /** Resolves with the server's time, test clock included, in milliseconds. */
  now(): Promise<number>
}

export class ApiError extends CommandError {
  readonly response: ApiResponse
  constructor(sentences: string | readonly string[], exit: number, response: ApiResponse) {
    super(sentences, exit)
    this.response = response
  }
}

export const urlOption = [
  '--url <URL>',
  'a running node; the key is in GATEHOOK_API_KEY (default: the local database)',
] as const

/** Options of commands on a customer's data. */
export const customerOptions: readonly CommandOption[] = [
  ...installationOptions,
  urlOption,
  ['--mode <MODE>', 'test (default) or live, without a key'],
  ['--customer <CUSTOMER>', 'its id or name (default: default), without a key'],
]

const ADMINISTRATOR: Owner = { customer: DEFAULT_CUSTOMER, mode: 'live' }

/** Opens the API as an administrator. `use` gets the command line with the id of its customer. */
function withAdministration<T>(
  input: Input,
  use: (api: Api, named: Input) => Promise<T>,
  opening?: Opening,
): Promise<T> {
  const useNamed = async (api: Api) => use(api, await withCustomerId(api, input))
  return input.options.url === undefined
    ? withLocalApi(input, undefined, useNamed, opening)
    : withRemoteApi(input, useNamed)
}

/** Commands of administration, `/admin/…`. They are local unless `--url` names a node. */
export const administration = commandsOn<Api, Opening>(withAdministration, {
  options: [...installationOptions, urlOption],
  config: ['databaseUrl'],
})

/** Resolves with the command line with the id of the customer that `--customer` names. */
export const namedInput = async (input: Input): Promise<Input> =>
  input.options.customer === undefined
    ? input
    : withAdministration(input, async (_, named) => named)

/**
 * Commands on the data of one customer. They are local unless `--url` or `GATEHOOK_API_KEY` is set.
 *
 * @param config - configuration flags of the node that `--help` lists
 */
export const customerCommands = (...config: readonly OptionName[]) =>
  commandsOn<Api>(
    (input, use) => {
      const { url, mode } = input.options
      if (url !== undefined || environmentKey() !== undefined) return withRemoteApi(input, use)
      if (mode !== undefined && mode !== 'test' && mode !== 'live') throw invalidMode(mode)
      return withLocalApi(
        input,
        (admin) => ownerOf(admin, input, mode),
        (api) => use(api),
      )
    },
    { options: customerOptions, config: ['databaseUrl', 'host', 'port', ...config] },
  )

/** The error for a `--mode` that is neither `live` nor `test`. */
export const invalidMode = (mode: unknown): UsageError =>
  new UsageError(`--mode is "${mode}"; expected live or test.`)

/** Returns the URL of a running node and the key of the environment. */
export function nodeOf(input: Input): { url: string; key: string | undefined } {
  const config = configOf(input)
  const url = String(input.options.url ?? publicUrlOf(config, config.port)).replace(/\/+$/, '')
  if (!/^https?:\/\/[^/]+/.test(url)) throw new CommandError(`--url "${url}" is no http(s) URL.`)
  return { url, key: environmentKey() }
}

const missingKey = () =>
  new CommandError(
    'Set GATEHOOK_API_KEY to a key of that node for --url; without --url none is needed.',
  )

export async function withRemoteApi<T>(input: Input, use: (api: Api) => Promise<T>): Promise<T> {
  const { url, key } = nodeOf(input)
  if (key === undefined) throw missingKey()
  const { definition } = await serviceOf(input)
  const place = 'the customer and mode of this key'
  return use(apiOf(definition, remoteSender(url, key), { place, refusesPrivate: false }))
}

/**
 * Authenticates with keys that exist in this process only.
 *
 * @param selectOwner - selects the customer and mode; absent for administration
 */
export async function withLocalApi<T>(
  input: Input,
  selectOwner: ((admin: Api) => Promise<Owner>) | undefined,
  use: (api: Api, app: App) => Promise<T>,
  opening?: Opening,
): Promise<T> {
  const processKeys = new Map<string, Principal>()
  const apiAs = async (app: App, owner: Owner): Promise<Api> => {
    const key = generateApiKey(systemRandom(), owner.mode)
    processKeys.set(key, await localPrincipal(app, owner))
    const { host } = new URL(app.publicUrl())
    const place = `the ${owner.mode} data of ${owner.customer}; other data: --mode, --customer`
    const refusesPrivate = !configOf(input).webhookAllowPrivate
    const send = localSender(app, { host, 'x-api-key': key })
    return apiOf(app.service, send, { place, refusesPrivate })
  }
  return withApp(
    input,
    async (app) => {
      const admin = await apiAs(app, ADMINISTRATOR)
      return use(selectOwner ? await apiAs(app, await selectOwner(admin)) : admin, app)
    },
    { ...opening, processKeys },
  )
}

async function localPrincipal(app: App, { customer, mode }: Owner): Promise<Principal> {
  const row = await findCustomer(app.db, customer)
  if (!row) throw new Error(`The customer ${customer} is missing.`)
  const { scopes } = app.administration
  const subject = userInfo().username
  return { customer, mode, scope: scopeOf(row.no, mode), kind: 'cli', subject, scopes }
}

function localSender(app: App, credential: Readonly<Record<string, string>>): SendRequest {
  return async (method, path, body, idempotencyKey) => {
    const hasBody = body !== undefined
    const headers = {
      ...credential,
      ...(hasBody && { 'content-type': 'application/json' }),
      ...idempotencyHeaders(idempotencyKey),
    }
    const {
      statusCode,
      headers: responseHeaders,
      body: text,
    } = await app.inject({
      method: method as 'GET',
      url: path,
      headers,
      ...(hasBody && { payload: JSON.stringify(body) }),
    })
    return {
      status: statusCode,
      body: text === '' ? undefined : JSON.parse(text),
      isReplayed: responseHeaders[REPLAYED_HEADER] !== undefined,
    }
  }
}

/** Nouns by path, for the message of a 404. */
const nouns: Readonly<Record<string, string>> = {
  '/webhooks': 'registration',
  '/deliveries': 'delivery',
  '/events': 'event',
  '/admin/keys': 'key',
  '/admin/clients': 'client',
  '/admin/issuers': 'trusted issuer',
  '/admin/customers': 'customer',
  '/admin/users': 'person',
  '/admin/versions': 'version',
  '/admin/requests': 'logged request',
  '/admin/jobs': 'job',
  '/admin/portal-links': 'link',
}

function notFoundMessage(path: string, place: string): string {
  const [, collection = '', id] = /^((?:\/admin)?\/[^/?]+)(?:\/([^/?]+))?/.exec(path) ?? []
  const noun = nouns[collection] ?? nouns[collection.replace(/^\/admin/, '')]
  if (!noun || !id) return `There is nothing at ${path}.`
  const scope = collection.startsWith('/admin') ? '' : ` in ${place}`
  return `There is no ${noun} ${decodeURIComponent(id)}${scope}.`
}

/** Codes of responses to a value that the person at the terminal passed. */
const INVALID_INPUT = new Set(['invalid_parameter', 'validation_failed'])

function errorOf(path: string, response: ApiResponse, place: string): ApiError {
  const { status, body } = response
  if (status === 404) return new ApiError(notFoundMessage(path, place), EXIT.failed, response)
  const messages = messagesOf(body, status)
  const isAdministration = path.startsWith('/admin/')
  const isUsage = isAdministration
    ? status === 400 || status === 422
    : INVALID_INPUT.has(body?.error)
  const sentences = isAdministration ? messages : messages[0]!
  const exit = isUsage ? EXIT.usage : status === 503 ? EXIT.temporary : EXIT.failed
  return new ApiError(sentences, exit, response)
}

const PAGE_SIZE = 100

type Surroundings = Pick<Api, 'refusesPrivate' | 'place'>

function apiOf(
  service: ServiceDefinition,
  send: SendRequest,
  { place, refusesPrivate }: Surroundings,
): Api {
  const sendFor: SendRequest = async (method, path, body, idempotencyKey) => {
    const response = await send(method, path, body, idempotencyKey)
    if (response.status >= 400) throw errorOf(path, response, place)
    return response
  }
  const request = async (method: string, path: string, body?: unknown) =>
    (await sendFor(method, path, body)).body
  return {
    service,
    place,
    request,
    postOnce: (path, body, idempotencyKey) => sendFor('POST', path, body, idempotencyKey),
    refusesPrivate,
    async list(path, max = Number.POSITIVE_INFINITY) {
      const rows: JsonBody[] = []
      let cursor: string | null = null
      do {
        const query = new URLSearchParams({ limit: String(Math.min(PAGE_SIZE, max - rows.length)) })
        if (cursor !== null) query.set('cursor', cursor)
        const page = await request('GET', `${path}${path.includes('?') ? '&' : '?'}${query}`)
        rows.push(...page.data)
        cursor = page.next_cursor
      } while (cursor !== null && rows.length < max)
      return rows
    },
    async now() {
      const { status, body } = await send('GET', '/admin/clock')
      return status === 200 ? Date.parse(body.now) : wallClock.now()
    },
  }
}

const LOAN_MS = 24 * 3_600_000

/** A key of the database, for a running node that shares it. */
interface BorrowedKey {
  readonly key: string
  /** Revokes the key. It expires after 24 h in any case. */
  readonly giveBack: () => Promise<void>
}

/**
 * Returns the key of the environment. Without one, creates a key in the database that the running
 * node shares.
 *
 * @param neededScopes - the scopes of a created key
 */
export async function borrowKey(
  input: Input,
  neededScopes: (service: ServiceDefinition) => readonly string[],
): Promise<BorrowedKey> {
  const { key } = nodeOf(input)
  if (key !== undefined) return { key, giveBack: async () => undefined }
  if (input.options.url !== undefined) throw missingKey()
  const { options } = await namedInput(input)
  // Receivers are not notified of the key: such events would be noise in the output.
  const withoutEvents = ({ administration: { record: _, ...sources } }: App) => sources
  const newKey = await withApp(input, (app) => {
    const sources = withoutEvents(app)
    const body = {
      name: 'gatehook command line',
      scopes: neededScopes(app.service),
      mode: options.mode ?? 'test',
      customer: options.customer,
      expires_at: isoTime(sources.clock.now() + LOAN_MS),
    }
    return createKey(sources, readMembers(body, keyCreation(sources)), cliCaller())
  })
  return {
    key: newKey.key,
    giveBack: () =>
      withApp(input, (app) => revokeKey(withoutEvents(app), newKey.id, { actor: cliActor() })),
  }
}

/** Every scope that a credential of the service can hold. */
export const declaredScopes = ({ service }: Api): Set<string> => listScopes(service)
