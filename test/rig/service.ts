/** A whole app on a fresh database. Tests send requests without a socket. */
import { type TestContext, test } from 'node:test'
import { api } from '../../packages/gatehook/service/service.ts'
import { type App, openApp } from '../../packages/gatehook/src/app.ts'
import type { AppOptions } from '../../packages/gatehook/src/assembly/foundation.ts'
import type { Service } from '../../packages/gatehook/src/declare/resources/service.ts'
import { isInstallationScope } from '../../packages/gatehook/src/identity/access/administration.ts'
import { keyCreation } from '../../packages/gatehook/src/identity/access/key-members.ts'
import { createKey } from '../../packages/gatehook/src/identity/access/keys.ts'
import type { Clock } from '../../packages/gatehook/src/kernel/clock.ts'
import type { Log } from '../../packages/gatehook/src/kernel/log.ts'
import { SETTLE_MS } from '../../packages/gatehook/src/operate/erasure/slices.ts'
import { readMembers } from '../../packages/gatehook/src/protocol/fields/body.ts'
import { cheapenHashes } from './cheap-hashes.ts'
import { onEnd } from './cleanup.ts'
import { copyOf, type Kind, migratedUrl, quietLog } from './databases.ts'
import './engine-threads.ts'
import { configOf } from './reference.ts'
import { responseCheckOf } from './response-check.ts'
import { skipWaits } from './skipped-waits.ts'

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  // biome-ignore lint/suspicious/noExplicitAny: tests read the members of each response
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
  /** URL of its database. */
  readonly url: string
  /** Returns a caller with another key, or without one. */
  as(key: string | undefined): Caller
  /** Creates a key, by default of the default customer. */
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
  readonly seed?: boolean | 'first'
  /** An existing database instead of a fresh one. */
  readonly url?: string
  /** An existing key for its requests instead of a new one. */
  readonly key?: string
  /** The clock of the app. The delivery engine has its own thread and clock. */
  readonly clock?: Clock
  /** Receives the lines of the app. Default: discards them. */
  readonly log?: Log
  /** Recognizes restored data, as `gatehook start` does. */
  readonly recognition?: AppOptions['recognition']
  /** Holds the SQLite file, as `gatehook start` does. */
  readonly ownership?: AppOptions['ownership']
}

/** Opens an app. Its requests have a test key with every scope of customers. */
export async function openService(
  t: TestContext,
  kind: Kind,
  options: TestAppOptions = {},
): Promise<TestApp> {
  const url = options.url ?? (await urlFor(t, kind, options))
  const config = configOf(url, options.env)
  const service = options.service ?? api
  const clock = options.clock && { clock: options.clock }
  const seed = options.seed ?? false
  const log = options.log ?? quietLog
  const { recognition, ownership } = options
  const started = { ...(recognition && { recognition }), ...(ownership && { ownership }) }
  onEnd(t, cheapenHashes())
  onEnd(t, skipWaits(SETTLE_MS))
  const app = checked(await openApp({ config, service, log, seed, ...clock, ...started }))
  onEnd(t, () => app.close())
  // Keys of tests record no events, so that lists contain the events of the test only.
  const { record: _, ...silent } = app.administration
  const all = [...app.administration.scopes].filter((scope) => !isInstallationScope(scope))
  const key: TestApp['key'] = async (members = {}) => {
    const body = { name: 'test', scopes: all, mode: 'test', ...members }
    const input = readMembers(body, keyCreation(silent))
    const caller = { actor: { kind: 'test', id: 'test' } as never, customer: 'default' }
    return (await createKey(silent, input, caller)).key
  }
  const as = (secret: string | undefined): Caller => callerOf(app, secret)
  return { app, url, as, key, ...as(options.key ?? (await key())) }
}

/** Options that affect what a first start stores. */
const OF_FIRST_START = ['service', 'clock', 'seed', 'log', 'recognition', 'ownership'] as const
const ENV_OF_FIRST_START = /^GATEHOOK_(DATABASE|SECRET|BOOTSTRAP|NODE)/

/** Returns the URL of a copy of a started database, if a first start has no options of its own. */
async function urlFor(t: TestContext, kind: Kind, options: TestAppOptions): Promise<string> {
  const started = process.env[`GATEHOOK_TEST_STARTED_${kind.toUpperCase()}`]
  const isUsual =
    OF_FIRST_START.every((name) => options[name] === undefined) &&
    !Object.keys(options.env ?? {}).some((name) => ENV_OF_FIRST_START.test(name))
  return started !== undefined && isUsual ? copyOf(started) : migratedUrl(t, kind)
}

/** Returns the app with a check of its JSON responses by the OpenAPI documents. */
function checked(app: App): App {
  const check = responseCheckOf(app)
  return {
    ...app,
    async inject(options) {
      const reply = await app.inject(options)
      const { method = 'GET', url } = (
        typeof options === 'string' ? { url: options } : options
      ) as { method?: string; url: string }
      const type = String(reply.headers['content-type'] ?? '')
      check(method, url, { status: reply.statusCode, type, text: reply.body })
      return reply
    },
  }
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
    const json = /\bjson\b/.test(String(reply.headers['content-type'] ?? ''))
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
