/**
 * `gatehook/app`: a service as an application inside another program, for example a test. Requests
 * need no socket. `app.ts` composes the application.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openApp as openEngine } from './app.ts'
import { loadConfig } from './config/config.ts'
import { generateApiKey } from './kernel/api-key-format.ts'
import { createLog } from './kernel/log.ts'
import { systemRandom } from './kernel/random.ts'
import type { Service } from './resources/service.ts'

export interface OpenOptions {
  readonly service: Service
  /**
   * Options by the names of the configuration reference (`GATEHOOK_DATABASE_URL`, …). The process
   * environment is not read. Defaults: a SQLite file in a temporary folder, which `close` removes;
   * any free port; no request limit; no log.
   */
  readonly env?: Readonly<Record<string, string>>
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
  /** Creates an API key of the default customer and returns its plaintext. */
  createKey(options?: KeyOptions): Promise<string>
  /**
   * Runs jobs until none is due, also those that jobs enqueue, and waits for their ends: a test of
   * own code needs no `listen`. A failed job that is retried later is not due. Returns the attempts
   * by job and outcome: `done`, `retried`, `failed`.
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
  env = {},
  seed = false,
}: OpenOptions): Promise<EmbeddedApp> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehook-'))
  const removeFolder = () => rmSync(folder, { recursive: true, force: true })
  try {
    const config = loadConfig({
      GATEHOOK_DATABASE_URL: `sqlite:${join(folder, 'gatehook.db')}`,
      GATEHOOK_PORT: '0',
      GATEHOOK_RATE_LIMIT: '0',
      GATEHOOK_LOG_LEVEL: 'silent',
      GATEHOOK_BOOTSTRAP_KEY: generateApiKey(systemRandom(), 'live'),
      ...env,
    })
    const log = createLog({ level: config.logLevel })
    const engine = await openEngine({ config, service, log, seed })
    const request = requestOf(engine)
    return {
      request,
      async createKey({ scopes, mode = 'test' } = {}) {
        const all = [...engine.administration.scopes].filter((scope) => scope !== 'admin')
        const response = await request('/admin/keys', {
          method: 'POST',
          headers: { 'x-api-key': config.bootstrapKey! },
          body: { name: 'openApp', mode, scopes: scopes ?? all },
        })
        const body = (await response.json()) as { key: string; message: string }
        if (!response.ok) throw new Error(`POST /admin/keys failed: ${body.message}`)
        return body.key
      },
      runJobs: engine.jobs.runDue,
      openapi: engine.openapi,
      listen: engine.listen,
      async close() {
        await engine.close()
        removeFolder()
      },
    }
  } catch (error) {
    removeFolder()
    throw error
  }
}

type Engine = Awaited<ReturnType<typeof openEngine>>

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
