/**
 * The listeners of a node: the public one, and the one for a private network (§17.3), which serves
 * the methods that `route-table.ts` marks in plain HTTP, for any Host.
 */
import { createPipeline, innerSteps, passed, type StepsByName } from './pipeline.ts'
import { type Config, tlsFilesOf } from './platform/config/config.ts'
import type { Endpoint } from './protocol/http/call.ts'
import { createOriginResolver } from './protocol/http/proxy-trust.ts'
import { createServer, type HttpServer, type ServerOptions } from './protocol/http/server.ts'
import { engineRoutes } from './route-table.ts'

interface Served {
  readonly endpoints: readonly Endpoint[]
  readonly steps: StepsByName
}

/** The options that all listeners share. */
type SharedOptions = Omit<ServerOptions, 'endpoints' | 'pipeline' | 'resolveOrigin'>

export function createListeners(
  config: Config,
  { endpoints, steps }: Served,
  options: SharedOptions,
): HttpServer {
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
