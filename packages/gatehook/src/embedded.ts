/**
 * `gatehook/app`: a service as an application inside another program, for example a test. Requests
 * need no socket. `app.ts` composes the application.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openApp as openEngine } from './app.ts'
import type { Service } from './declare/resources/service.ts'
import { loadServiceModule, type ServiceModule } from './declare/resources/service-module.ts'
import { DEFAULT_CUSTOMER, isInstallationScope } from './identity/access/administration.ts'
import { keyCreation } from './identity/access/key-members.ts'
import { createKey } from './identity/access/keys.ts'
import { Failure } from './kernel/failure.ts'
import { createLog } from './kernel/log.ts'
import { systemRandom } from './kernel/random.ts'
import { loadConfig, withEnvOption } from './platform/config/config.ts'
import { dataFolder } from './platform/config/environment.ts'
import { readMembers } from './protocol/fields/body.ts'

export interface OpenOptions {
  /**
   * The service, or a function that imports its module or declares it. All mistakes of a
   * declaration are then in one error, as those of a start. Outside such a function the first call
   * with a mistake throws.
   */
  readonly service: Service | (() => ServiceModule | Promise<ServiceModule>)
  /**
   * A database of a PostgreSQL server, `postgres://…`, whose role may create databases. The app has
   * a new database beside it, which `close` drops. Default, also for undefined: a SQLite file in a
   * temporary folder, which `close` removes.
   */
  readonly database?: string | undefined
  /**
   * Options by the names of the configuration reference (`GATEHOOK_TEST_CLOCK`, …). The process
   * environment is not read. Defaults: any free port; no request limit; warnings and errors, with
   * the causes of failed jobs and responses of 500, on standard error (`GATEHOOK_LOG_LEVEL`).
   */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Whether to add the sample rows of the resources, in test mode. Default: false. */
  readonly seed?: boolean
}

export interface RequestOptions {
  /** Default: GET. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** A string is sent unchanged, any other value as JSON. */
  readonly body?: unknown
}

export interface KeyOptions {
  /** Default: every scope except `admin`. */
  readonly scopes?: readonly string[]
  /** Default: `test`. */
  readonly mode?: 'live' | 'test'
}

export interface JobAttempts {
  readonly job: string
  readonly outcome: string
  readonly count: number
}

interface EmbeddedApp {
  /**
   * Sends a request without a socket: `await app.request('/api/v1/books')`. Responses that never
   * end (event streams) need `listen`.
   */
  request(path: string, options?: RequestOptions): Promise<Response>
  /**
   * Creates an API key of the default customer and returns its plaintext. Throws an error that
   * names the members it rejects.
   */
  createKey(options?: KeyOptions): Promise<string>
  /**
   * Does all work that is due by the clock of the app, and waits for its end: a test needs no
   * `listen`. It runs jobs of own code and those that they enqueue, sends mail, deletes customers,
   * erases persons, replays events, and purges expired and deleted rows. Webhooks are sent after
   * `listen` only. A failed job that is retried later is not due. Returns the attempts at jobs by
   * job and outcome: `done`, `retried`, `failed`.
   */
  runJobs(): Promise<readonly JobAttempts[]>
  /** The OpenAPI document of a version. */
  openapi(version: string): unknown
  /** Starts background work, jobs and webhook deliveries included, and serves on a port. */
  listen(): Promise<{ readonly url: string; readonly port: number }>
  /** Finishes requests in flight, then closes sockets and the database. */
  close(): Promise<void>
}

export type { EmbeddedApp as App }

/** Statuses whose responses have no body; `Response` rejects one. */
const BODILESS = new Set([204, 205, 304])

/**
 * Opens the database, applies migrations and returns the application. Throws `ConfigError`,
 * `StorageError` or `DeclarationError` with sentences for the operator.
 *
 * @example
 * const app = await openApp({ service: api, seed: true })
 * const key = await app.createKey()
 * const response = await app.request('/api/v1/books', { headers: { 'x-api-key': key } })
 * await app.close()
 */
export async function openApp({
  service,
  database,
  env = {},
  seed = false,
}: OpenOptions): Promise<EmbeddedApp> {
  const declared = await loadServiceModule(service)
  const storage = await createStorage(database)
  try {
    const settings = loadConfig({
      GATEHOOK_PORT: '0',
      GATEHOOK_RATE_LIMIT: '0',
      GATEHOOK_LOG_LEVEL: 'warn',
      ...storage.env,
      ...env,
    })
    const hasFolder = dataFolder(settings) !== undefined
    const config = hasFolder ? settings : { ...settings, folder: storage.folder }
    const log = createLog({ level: config.logLevel, destination: process.stderr })
    const engine = await openEngine({ config, service: declared, log, seed })
    // As at a start: recurring jobs become due when the test sets the clock.
    await engine.jobs.openSchedules()
    return {
      request: requestOf(engine),
      createKey: keyCreatorOf(engine),
      async runJobs() {
        const attempts = await engine.runDue()
        return attempts.map(({ job, outcome, count }) => ({ job, outcome, count }))
      },
      openapi: engine.openapi,
      listen: engine.listen,
      async close() {
        await engine.close()
        await storage.remove()
      },
    }
  } catch (error) {
    await storage.remove()
    throw withEnvOption('openApp()', error)
  }
}

/** A database for one app, with the options that name it. */
interface AppStorage {
  /** A temporary folder for files, such as mail. */
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  remove(): Promise<void>
}

async function createStorage(serverUrl: string | undefined): Promise<AppStorage> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehook-'))
  const removeFolder = () => rmSync(folder, { recursive: true, force: true })
  const env = { GATEHOOK_DATABASE_URL: `sqlite:${join(folder, 'gatehook.db')}` }
  if (serverUrl === undefined) return { folder, env, remove: async () => removeFolder() }
  try {
    const database = await createPostgresDatabase(serverUrl)
    return { folder, env: database.env, remove: () => database.remove().finally(removeFolder) }
  } catch (error) {
    removeFolder()
    throw error
  }
}

async function createPostgresDatabase(serverUrl: string): Promise<Omit<AppStorage, 'folder'>> {
  // The driver takes 12 MB, which tests on SQLite save.
  const { createTemporaryDatabase } = await import('./platform/storage/postgres-temporary.ts')
  const random = systemRandom()
  const name = `gatehook_test_${random.bytes(8).toString('hex')}`
  const log = createLog({ level: 'silent' })
  const { url, drop } = await createTemporaryDatabase(serverUrl, name, log)
  const secret = random.bytes(32).toString('base64url')
  return { env: { GATEHOOK_DATABASE_URL: url, GATEHOOK_SECRET_KEY: secret }, remove: drop }
}

type Engine = Awaited<ReturnType<typeof openEngine>>

function keyCreatorOf({ administration }: Engine): EmbeddedApp['createKey'] {
  const all = [...administration.scopes].filter((scope) => !isInstallationScope(scope))
  const caller = { actor: { kind: 'system', id: 'openApp' }, customer: DEFAULT_CUSTOMER } as const
  return async ({ scopes = all, mode = 'test' } = {}) => {
    try {
      const body = { name: 'openApp', mode, scopes }
      const values = readMembers(body, keyCreation(administration))
      return (await createKey(administration, values, caller)).key
    } catch (error) {
      throw error instanceof Failure ? withPointers('createKey', error) : error
    }
  }
}

/** Returns an error for the developer of a test, whose message has the pointers of a failure. */
function withPointers(helper: string, failure: Failure): Error {
  const lines = (failure.errors ?? []).map(({ pointer, message }) => `${pointer} ${message}`)
  const reason = lines.length > 0 ? lines.join('; ') : failure.message
  return new Error(`${helper}: ${reason}`, { cause: failure })
}

function requestOf(engine: Engine): EmbeddedApp['request'] {
  return async (url, { method = 'GET', headers = {}, body } = {}) => {
    const payload = typeof body === 'string' || body === undefined ? body : JSON.stringify(body)
    const reply = await engine.inject({
      method: method as 'GET',
      url,
      headers: {
        host: 'localhost',
        ...(payload !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(payload !== undefined && { payload }),
    })
    const lines = Object.entries(reply.headers).flatMap(([name, value]) =>
      [value ?? []].flat().map((line): [string, string] => [name, String(line)]),
    )
    const { statusCode: status, rawPayload } = reply
    return new Response(BODILESS.has(status) ? null : new Uint8Array(rawPayload), {
      status,
      headers: lines,
    })
  }
}
