/**
 * `gatehook/server`: a service inside the server of another application (§17.4). It opens nothing
 * before the first request, installs no signal handler and never ends the process.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type App, openApp } from './app.ts'
import type { Service } from './declare/resources/service.ts'
import { loadServiceModule, type ServiceModule } from './declare/resources/service-module.ts'
import { wallClock } from './kernel/clock.ts'
import { Failure } from './kernel/failure.ts'
import { createLog } from './kernel/log.ts'
import { ConfigError, mountMistakes, mountPathOf, withEnvOption } from './platform/config/config.ts'
import { nodeNameOf, readConfig } from './platform/config/environment.ts'
import { StorageError } from './platform/storage/database.ts'
import { fetchThrough } from './protocol/http/fetch-request.ts'
import { BODY_READ } from './protocol/http/mounted-request.ts'
import { formatProblem } from './protocol/http/problem.ts'

export interface MountOptions {
  /** The service, or a function that imports its module or declares it. */
  readonly service: Service | (() => ServiceModule | Promise<ServiceModule>)
  /**
   * Options by the names of the configuration reference; default: the environment of the process.
   * `GATEHOOK_PUBLIC_URL` has the path under which the application mounts it.
   */
  readonly env?: Readonly<Record<string, string | undefined>>
  /**
   * Whether console and portal are served under a path. A script that is injected into the
   * application then acts as the operator who is signed in. Default: at the root of a host only.
   */
  readonly pages?: boolean
}

/** Facts of the application about the sender of a request. Forwarded headers are not read. */
export interface Sender {
  /**
   * The IP address. Without it, passwords, Basic and keys with `cidrs` are refused, and anonymous
   * requests count as one address. Default of `node`: that of the socket.
   */
  readonly address?: string | undefined
  /** Whether it uses HTTPS. Default: as the URL of the request, or the socket, says. */
  readonly secure?: boolean | undefined
}

interface Handlers {
  /** Serves a request of the Fetch standard. */
  readonly fetch: (request: Request, sender?: Sender) => Promise<Response>
  /** Serves a request of Node. `request` is whole, or below the path that a framework strips. */
  readonly node: (
    request: IncomingMessage,
    response: ServerResponse,
    sender?: Sender,
  ) => Promise<void>
}

export interface Mounted extends Handlers {
  /** Serves the documents that belong to the root of the host, under `/.well-known`. */
  readonly wellKnown: Handlers
  /** Opens the database and starts background work. Rejects with the reason if that fails. */
  ready(): Promise<void>
  /** Answers `/readyz` with 503, then ends streams and waits for requests in flight. */
  drain(): Promise<void>
  /** Ends background work and closes the database. */
  close(): Promise<void>
}

/** A process has one instance, however often a bundler or a reload evaluates a module. */
const INSTANCE = Symbol.for('gatehook.mounted')
const instances = globalThis as unknown as Record<symbol, Mounted | undefined>

/**
 * Returns the instance of this process; the first call decides about its options.
 *
 * @example
 * const gatehook = mount({ service: api, env: process.env })
 * app.use('/gatehook', (req, res) => gatehook.node(req, res))
 */
export const mount = (options: MountOptions): Mounted =>
  (instances[INSTANCE] ??= createMounted(options))

function createMounted(options: MountOptions): Mounted {
  const opener = createOpener(options)
  const { open, current, end } = opener
  return {
    ...handlersOf(opener, belowPath),
    wellKnown: handlersOf(opener, wellKnownTarget),
    async ready() {
      await open()
    },
    async drain() {
      await (await current())?.app.drain()
    },
    async close() {
      instances[INSTANCE] = undefined
      end()
      await (await current())?.app.close()
    },
  }
}

interface OpenedService {
  readonly app: App
  /** The path of the public URL. */
  readonly path: string
}

/** Requests within this time of a failed opening get its failure; a later one opens again. */
const RETRY_MS = 1_000

interface Opener {
  open(): Promise<OpenedService>
  /** Returns the service while it is open. */
  opened(): OpenedService | undefined
  /** Returns the service, also after the end. */
  current(): Promise<OpenedService | undefined>
  end(): void
}

function createOpener(options: MountOptions): Opener {
  let opened: OpenedService | undefined
  let opening: Promise<OpenedService> | undefined
  let failedMs: number | undefined
  let hasEnded = false
  const isFresh = () => failedMs === undefined || wallClock.elapsedMs() - failedMs < RETRY_MS
  return {
    async open(): Promise<OpenedService> {
      if (hasEnded) throw new Failure('shutting_down')
      if (!opening || !isFresh()) {
        failedMs = undefined
        opening = openService(options)
        opening.then(
          (service) => {
            opened = service
          },
          () => {
            failedMs = wallClock.elapsedMs()
          },
        )
      }
      return opening
    },
    opened: () => (hasEnded ? undefined : opened),
    current: async () => opening?.catch(() => undefined),
    end() {
      hasEnded = true
    },
  }
}

async function openService({ service, env, pages }: MountOptions): Promise<OpenedService> {
  let log = createLog({ level: 'info' })
  try {
    const config = readConfig({}, '.', env)
    log = createLog({ level: config.logLevel, node: nodeNameOf(config) })
    const mistakes = mountMistakes(config)
    if (mistakes.length > 0) throw new ConfigError(mistakes)
    for (const warning of config.warnings) log.warn(warning)
    const path = mountPathOf(config)
    const app = await openApp({
      config,
      service: await loadServiceModule(service),
      log,
      mounted: { pages: pages ?? path === '' },
      ownership: { takesOver: false },
      recognition: { isRestored: false },
      onTakenOver: () => log.fatal('another process has taken the database over'),
      onProgress: (line) => log.info(line),
    })
    try {
      await app.work()
    } catch (error) {
      await app.close().catch((err: unknown) => log.warn({ err }, 'a failed start did not end'))
      throw error
    }
    return { app, path }
  } catch (thrown) {
    const error = env === undefined ? thrown : withEnvOption('mount()', thrown)
    log.fatal({ err: error }, 'the mounted service cannot be opened')
    throw error
  }
}

/** A request waits this long for the opening; `ready` waits for its end. */
const WAIT_MS = 2_000

/** Rejects with `storage_unavailable` after `WAIT_MS`, and with the reason of the signal. */
async function inTime<T>(opening: Promise<T>, signal?: AbortSignal): Promise<T> {
  signal?.throwIfAborted()
  const { promise: end, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Failure('storage_unavailable', OPENING)), WAIT_MS)
  const abort = () => reject(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([opening, end])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

const OPENING = 'The database is being opened. Retry later.'

/**
 * Returns the target of a request for the server: path and query below the public URL.
 *
 * @param urls The URL as sent, then as the framework passes it.
 */
type FindTarget = (urls: readonly string[], path: string) => string

function handlersOf({ open, opened }: Opener, findTarget: FindTarget): Handlers {
  return {
    fetch: async (request, { address, secure } = {}) => {
      try {
        if (request.bodyUsed) throw new Failure('internal_error', BODY_READ)
        const { app, path } = await inTime(open(), request.signal)
        const { pathname, search, protocol } = new URL(request.url)
        const target = findTarget([pathname + search], path)
        const isSecure = secure ?? protocol === 'https:'
        return await fetchThrough(app.server.connect, request, {
          target,
          address,
          secure: isSecure,
        })
      } catch (error) {
        request.signal.throwIfAborted()
        const { json, ...init } = answerOf(error)
        return new Response(json, init)
      }
    },
    node: async (request, response, { address, secure } = {}) => {
      const { socket, url = '/' } = request
      const { originalUrl = url } = request as { originalUrl?: string }
      try {
        // Within the call of Node's parser: the bounds apply to the rest of its buffer as well.
        const { app, path } = opened() ?? (await inTime(open()))
        const isEncrypted = 'encrypted' in socket && socket.encrypted === true
        app.server.adopt(request, response, {
          target: findTarget([originalUrl, url], path),
          address: address ?? socket.remoteAddress,
          secure: secure ?? isEncrypted,
        })
      } catch (error) {
        const { status, json, headers } = answerOf(error)
        response.writeHead(status, headers).end(json)
      }
    },
  }
}

const isBelow = (url: string, path: string): boolean =>
  url.startsWith(path) && /^(?:[/?]|$)/.test(url.slice(path.length))

/** Removes the path of the public URL, unless the framework has done so. */
const belowPath: FindTarget = (urls, path) => {
  const whole = path === '' ? undefined : urls.find((url) => isBelow(url, path))
  const target = whole === undefined ? urls.at(-1)! : whole.slice(path.length)
  return target.startsWith('/') ? target : `/${target}`
}

const WELL_KNOWN = '/.well-known'
const HOST_DOCUMENTS =
  /^\/(?:oauth-authorization-server|openid-configuration|oauth-protected-resource)(?=[/?]|$)/

/** The path of the public URL follows the name of a document (RFC 8414 §3.1, RFC 9728 §3.1). */
const wellKnownTarget: FindTarget = (urls, path) => {
  const whole = urls.find((url) => isBelow(url, WELL_KNOWN))
  const name = whole === undefined ? urls.at(-1)! : whole.slice(WELL_KNOWN.length)
  if (isBelow(name, '/api-catalog')) return WELL_KNOWN + name
  const document = HOST_DOCUMENTS.exec(name)?.[0]
  const rest = name.slice(document?.length)
  return document !== undefined && isBelow(rest, path)
    ? WELL_KNOWN + document + rest.slice(path.length)
    : WELL_KNOWN
}

/** Returns the response where no app serves the request. The log has the cause. */
function answerOf(error: unknown) {
  const cause = error instanceof StorageError ? 'storage_unavailable' : 'internal_error'
  const failure = error instanceof Failure ? error : new Failure(cause)
  const { status, json, headers } = formatProblem(failure, { requestId: '', accept: undefined })
  return { status, json, headers: { 'content-type': 'application/json', ...headers } }
}
