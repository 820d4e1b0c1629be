/** A whole app on a fresh database, called without a socket: what most tests need. */
import { type TestContext, test } from 'node:test'
import { api } from '../../packages/gatehook/service/service.ts'
import { createKey } from '../../packages/gatehook/src/access/keys.ts'
import { type App, openApp } from '../../packages/gatehook/src/app.ts'
import { loadConfig } from '../../packages/gatehook/src/config/config.ts'
import type { Clock } from '../../packages/gatehook/src/kernel/clock.ts'
import type { Service } from '../../packages/gatehook/src/resources/service.ts'
import { freshUrl, type Kind, quietLog } from './databases.ts'

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers
  readonly body: any
  readonly text: string
}

export interface Caller {
  get(path: string, headers?: Record<string, string>): Promise<Reply>
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>
  patch(path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>
  put(path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>
  delete(path: string, headers?: Record<string, string>): Promise<Reply>
  send(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Reply>
}

export interface TestApp extends Caller {
  readonly app: App
  /** Of its database. */
  readonly url: string
  /** The same calls with another key, or none. */
  as(key: string | undefined): Caller
  /** A key of the default customer unless told otherwise. */
  key(options?: {
    scopes?: readonly string[]
    mode?: 'live' | 'test'
    customer?: string
    [more: string]: unknown
  }): Promise<string>
}

export interface TestAppOptions {
  readonly service?: Service
  readonly env?: Readonly<Record<string, string>>
  readonly seed?: boolean
  /** An existing database instead of a fresh one. */
  readonly url?: string
  /** Of all but the delivery engine, which has a thread and a clock of its own. */
  readonly clock?: Clock
}

/** Calls go out with a key of every scope but `admin`, in test mode. */
export async function openService(
  t: TestContext,
  kind: Kind,
  options: TestAppOptions = {},
): Promise<TestApp> {
  const url = options.url ?? (await freshUrl(t, kind))
  const config = loadConfig({
    GATEHOOK_DATABASE_URL: url,
    GATEHOOK_PORT: '0',
    GATEHOOK_RATE_LIMIT: '0',
    GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
    ...options.env,
  })
  const service = options.service ?? api
  const clock = options.clock && { clock: options.clock }
  const seed = options.seed ?? false
  const app = await openApp({ config, service, log: quietLog, seed, ...clock })
  t.after(() => app.close())
  // Keys of tests are no events: what a test looks for stands alone in its lists.
  const { record: _, ...quiet } = app.administration
  const all = [...app.administration.scopes].filter((scope) => scope !== 'admin')
  const key: TestApp['key'] = async (wanted = {}) => {
    const input = { name: 'test', scopes: all, mode: 'test', ...wanted }
    const caller = { actor: { kind: 'test', id: 'test' } as never, customer: 'default' }
    return (await createKey(quiet, input, caller)).key
  }
  const as = (secret: string | undefined): Caller => callerOf(app, secret)
  return { app, url, as, key, ...as(await key()) }
}

function callerOf(app: App, key: string | undefined): Caller {
  const send: Caller['send'] = async (method, url, body, headers = {}) => {
    const reply = await app.inject({
      method: method as 'GET',
      url,
      headers: {
        host: 'localhost',
        ...(key && { 'x-api-key': key }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && {
        payload: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    })
    const json = /json/.test(String(reply.headers['content-type'] ?? ''))
    return {
      status: reply.statusCode,
      headers: reply.headers as Record<string, string>,
      body: json && reply.body !== '' ? JSON.parse(reply.body) : undefined,
      text: reply.body,
    }
  }
  return {
    send,
    get: (path, headers) => send('GET', path, undefined, headers),
    post: (path, body, headers) => send('POST', path, body, headers),
    patch: (path, body, headers) => send('PATCH', path, body, headers),
    put: (path, body, headers) => send('PUT', path, body, headers),
    delete: (path, headers) => send('DELETE', path, undefined, headers),
  }
}

/** Defines the same test over a whole app on both databases. */
export function eachService(
  name: string,
  body: (service: TestApp, t: TestContext) => Promise<void>,
  options: TestAppOptions = {},
): void {
  for (const kind of ['sqlite', 'postgres'] as const) {
    test(`${name} [${kind}]`, async (t) => body(await openService(t, kind, options), t))
  }
}
