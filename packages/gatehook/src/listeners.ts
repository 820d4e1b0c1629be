/**
 * The servers of a node: the public one, and the one for a private network (§17.3), which serves
 * the methods that `route-table.ts` marks in plain HTTP, for any Host. A mounted app (§17.4) has
 * one without a port.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Foundation } from './assembly/foundation.ts'
import { createPipeline, innerSteps, passed, type StepsByName } from './pipeline.ts'
import {
  type Config,
  ConfigError,
  drainDelayMs,
  mountPathOf,
  tlsFilesOf,
} from './platform/config/config.ts'
import type { Endpoint } from './protocol/http/call.ts'
import { requireMountedHttps, resolveMounted } from './protocol/http/mounted-request.ts'
import { createOriginResolver } from './protocol/http/proxy-trust.ts'
import { addStrictTransport, MOUNTED_STRICT_TRANSPORT } from './protocol/http/response-steps.ts'
import { createServer, type HttpServer, type ServerOptions } from './protocol/http/server.ts'
import { engineRoutes } from './route-table.ts'

interface Served {
  readonly endpoints: readonly Endpoint[]
  readonly steps: StepsByName
}

/** The options that all listeners share. */
type SharedOptions = Omit<ServerOptions, 'endpoints' | 'pipeline' | 'resolveOrigin'>

export function createListeners(
  { config, mounted, publicUrl }: Pick<Foundation, 'config' | 'mounted' | 'publicUrl'>,
  { endpoints, steps }: Served,
  options: SharedOptions,
): HttpServer {
  if (mounted) {
    refuseOwnPath(mountPathOf(config), endpoints, options)
    const strictTransport = MOUNTED_STRICT_TRANSPORT
    const mountedSteps = {
      ...steps,
      requireHttps: requireMountedHttps(publicUrl()),
      addStrictTransport: addStrictTransport(strictTransport),
    }
    return createServer({
      ...options,
      strictTransport,
      endpoints: mounted.pages ? endpoints : endpoints.filter(({ path }) => !PAGES.test(path)),
      pipeline: createPipeline(mountedSteps),
      innerPipeline: createPipeline(innerSteps(mountedSteps)),
      resolveOrigin: resolveMounted,
    })
  }
  const server = createServer({
    ...options,
    endpoints,
    pipeline: createPipeline(steps),
    innerPipeline: createPipeline(innerSteps(steps)),
    resolveOrigin: createOriginResolver(config.trustProxy.join(',') || undefined),
    proxies: config.trustProxy,
    tls: tlsFilesOf(config),
  })
  if (config.internal === null) return server
  const internal = createServer({
    ...options,
    endpoints: internalEndpoints(endpoints),
    pipeline: createPipeline({ ...steps, requireHttps: passed, requireServedHost: passed }),
    resolveOrigin: createOriginResolver(undefined),
  })
  return joinListeners(server, internal, config.internal, options)
}

/**
 * Throws a `ConfigError` for a path that the API has itself: when a framework strips it, a path of
 * the API remains, which then seems to be whole.
 */
function refuseOwnPath(
  path: string,
  endpoints: readonly Endpoint[],
  { roots }: Pick<SharedOptions, 'roots'>,
): void {
  const [, first = '', second = ''] = path.split('/')
  const isOwn =
    first === 'api'
      ? second === '' || roots.has(second) || /^v\d/.test(second)
      : endpoints.some((endpoint) => endpoint.path.split('/')[1] === first)
  if (path === '' || !isOwn) return
  throw new ConfigError([
    `GATEHOOK_PUBLIC_URL has the path ${path}, which is one of the API itself; choose another, ` +
      'such as /gatehook.',
  ])
}

/** Console and portal, with their sessions. */
const PAGES = /^\/(?:console|portal|assets)(?:\/|$)/

const internalOperations: ReadonlySet<string> = new Set(
  engineRoutes.filter(({ isInternal }) => isInternal).map(({ method, path }) => method + path),
)

/** Returns the endpoints of the listener for a private network, with the methods that it serves. */
const internalEndpoints = (endpoints: readonly Endpoint[]): Endpoint[] =>
  endpoints.flatMap((endpoint) => {
    const methods = Object.entries(endpoint.methods).filter(([method]) =>
      internalOperations.has(method + endpoint.path),
    )
    return methods.length === 0 ? [] : { ...endpoint, methods: Object.fromEntries(methods) }
  })

/** Joins both listeners: they begin, drain and end together. */
const joinListeners = (
  server: HttpServer,
  internal: HttpServer,
  bind: NonNullable<Config['internal']>,
  { log }: SharedOptions,
): HttpServer => ({
  inject: server.inject,
  sendInner: server.sendInner,
  adopt: server.adopt,
  connect: server.connect,
  get isListening() {
    return server.isListening
  },
  async listen(address) {
    const bound = await server.listen(address)
    const { url } = await internal.listen(bind)
    log.info({ url }, 'listening for a private network, in plain HTTP')
    return { ...bound, internalUrl: url }
  },
  leave() {
    server.leave()
    internal.leave()
  },
  async drain(limitMs) {
    const finished = await Promise.all([server.drain(limitMs), internal.drain(limitMs)])
    return finished.every(Boolean)
  },
  async close() {
    await Promise.all([server.close(), internal.close()])
  },
})

export const DRAIN_LIMIT_MS = 10_000

/** Serves until load balancers have noticed. A mounted server then finishes its requests. */
export async function leaveBalancers(
  server: HttpServer,
  { config, mounted }: Pick<Foundation, 'config' | 'mounted'>,
): Promise<void> {
  server.leave()
  if (server.isListening || mounted) await delay(drainDelayMs(config))
  if (mounted) await server.drain(DRAIN_LIMIT_MS)
}
