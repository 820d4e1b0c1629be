/**
 * The door to Fastify, the only file that imports it: router, sockets, `inject`. Fastify neither
 * reads bodies, nor answers, nor logs here; what a call goes through is `exchange.ts`.
 */
import { type IncomingMessage, METHODS, type Server, type ServerResponse } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { type FastifyInstance, fastify } from 'fastify'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Log } from '../kernel/log.ts'
import type { Random } from '../kernel/random.ts'
import { type Arrival, type ArrivalRules, readArrival } from './arrival.ts'
import type { Endpoint } from './call.ts'
import {
  type Context,
  defaultLimits,
  type ErrorShapes,
  Exchange,
  type Limits,
  type Pipeline,
  type Plan,
  serve,
} from './exchange.ts'
import type { Front } from './front.ts'
import { vendorPattern } from './media.ts'
import { answerParserErrors, type ParserErrorOptions, refuseTunnels } from './parser-errors.ts'
import { readTls, type TlsFiles, watchTls } from './tls.ts'

export interface ServerOptions {
  readonly endpoints: readonly Endpoint[]
  readonly pipeline: Pipeline
  readonly log: Log
  readonly clock: Clock
  readonly random: Random
  readonly front: Front
  /** First segments of the paths declared under `/api`; they are never versions. */
  readonly roots: ReadonlySet<string>
  readonly limits?: Partial<Limits> | undefined
  readonly tls?: TlsFiles | undefined
  /** The word in `application/vnd.<vendor>.api.v2+json`. Default `gatehook`. */
  readonly vendor?: string | undefined
  /** Where error codes are explained: `{publicUrl}/docs/errors`. */
  readonly documentation?: string | undefined
  /** Kinds whose errors have a shape of their own. */
  readonly errorShapes?: ErrorShapes
}

export interface HttpServer {
  /** Binds; `url` is the address bound, with the real port where 0 was asked for. */
  listen(bind: { host: string; port: number }): Promise<{ url: string; port: number }>
  /** Fastify's `inject`: a call without a socket, for tests. */
  readonly inject: FastifyInstance['inject']
  /**
   * No new connections; requests in flight finish, at most `limitMs` milliseconds long; then every
   * connection is closed. Resolves with whether all finished.
   */
  drain(limitMs: number): Promise<boolean>
  /** Closes at once, connections included. */
  close(): Promise<void>
}

/** Where an arrival is kept between the rewriting of the URL and the handler. */
const ARRIVAL = Symbol('arrival')
type Arriving = IncomingMessage & { [ARRIVAL]?: Arrival }

/** The latest response of a connection, for `parser-errors.ts`. */
const LATEST = Symbol('latest')
type Tracked = Socket & { [LATEST]?: ServerResponse }

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze(Object.create(null))
const NO_QUERY = Object.freeze({})
const TLS_HANDSHAKE_MS = 10_000
const TIMEOUT_CHECKS_MS = 1000

export function createServer(options: ServerOptions): HttpServer {
  const limits: Limits = { ...defaultLimits, ...options.limits }
  const { log, clock, random, documentation } = options
  const context: Context = {
    log,
    lines: log.child({}, { redact: [] }), // looking for secrets costs more than the line itself
    clock,
    front: options.front,
    limits,
    vendor: vendorPattern(options.vendor ?? 'gatehook'),
    documentation,
    errorShapes: options.errorShapes ?? {},
    drain: new AbortController(),
  }
  const rules: ArrivalRules = { urlBytes: limits.urlBytes, roots: options.roots, random }
  const unknown: Plan = {
    kind: 'unknown',
    route: '*',
    methods: {},
    allow: '',
    steps: options.pipeline.unknown,
  }
  const nowhere = (request: IncomingMessage, response: ServerResponse) =>
    serve(new Exchange(context, unknown, arrivalOf(request), request, response, NO_PARAMS))
  const broken = (_path: string, request: IncomingMessage, response: ServerResponse) => {
    const arrival = arrivalOf(request)
    const refusal =
      arrival.refusal ?? new Failure('invalid_request', 'A percent escape in the path is broken.')
    serve(new Exchange(context, unknown, { ...arrival, refusal }, request, response, NO_PARAMS))
  }

  const refusals: ParserErrorOptions = {
    log,
    random,
    urlBytes: limits.urlBytes,
    documentation,
    latest: (socket) => (socket as Tracked)[LATEST],
  }
  const settings = {
    ...nodeOptions(options.tls, limits),
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveMs,
    logger: false,
    genReqId: () => '', // ours is made on arrival
    exposeHeadRoutes: false,
    return503OnClosing: false,
    rewriteUrl(request: Arriving) {
      const arrival = readArrival(request, clock.elapsedMs(), rules)
      request[ARRIVAL] = arrival
      return arrival.routed
    },
    routerOptions: {
      maxParamLength: limits.urlBytes,
      querystringParser: () => NO_QUERY,
      onBadUrl: broken,
      defaultRoute: nowhere,
    },
    clientErrorHandler: answerParserErrors(refusals),
  }
  // Its types want to know at compile time whether the server speaks TLS.
  const app = fastify(settings as object) as unknown as FastifyInstance
  app.server.on('connect', refuseTunnels(refusals))

  // No method has a body as far as Fastify goes: ours is read after the head steps.
  for (const method of ROUTED) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  for (const endpoint of options.endpoints) {
    register(app, context, planOf(endpoint, options.pipeline), nowhere)
  }
  return operate(app, context, options)
}

/** CONNECT is for proxies; node gives it to nobody here. */
const ROUTED = METHODS.filter((method) => method !== 'CONNECT')

type Listener = (request: IncomingMessage, response: ServerResponse) => void

function register(app: FastifyInstance, context: Context, plan: Plan, nowhere: Listener): void {
  app.route({
    method: [...ROUTED],
    url: plan.route,
    handler(request, reply) {
      const params = (request.params ?? NO_PARAMS) as Record<string, string>
      // The router lets `/users/` match `/users/:id`.
      for (const name in params) if (params[name] === '') return nowhere(request.raw, reply.raw)
      const { raw } = request
      serve(new Exchange(context, plan, arrivalOf(raw), raw, reply.raw, params))
    },
  })
}

const arrivalOf = (request: IncomingMessage): Arrival => (request as Arriving)[ARRIVAL]!

function planOf(endpoint: Endpoint, pipeline: Pipeline): Plan {
  const methods = Object.keys(endpoint.methods)
  const get = methods.indexOf('GET')
  if (get >= 0) methods.splice(get + 1, 0, 'HEAD')
  return {
    kind: endpoint.kind,
    route: endpoint.path,
    methods: endpoint.methods,
    allow: [...methods, 'OPTIONS'].join(', '),
    steps: pipeline[endpoint.kind],
  }
}

/** Options of node's own server, which Fastify passes on. */
function nodeOptions(tls: TlsFiles | undefined, limits: Limits) {
  const node = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: Math.min(TIMEOUT_CHECKS_MS, limits.headersTimeoutMs / 2),
    requireHostHeader: false, // node would answer without our envelope; `arrival.ts` requires it
    noDelay: true,
  }
  if (!tls) return { http: node }
  return {
    https: {
      ...node,
      ...readTls(tls),
      handshakeTimeout: TLS_HANDSHAKE_MS,
      ALPNProtocols: ['http/1.1'],
    },
  }
}

/** Listening, draining, closing. */
function operate(app: FastifyInstance, context: Context, options: ServerOptions): HttpServer {
  const server = app.server as Server
  let inFlight = 0
  let whenIdle: (() => void) | undefined
  let unwatch: (() => void) | undefined

  const released = () => {
    if (--inFlight === 0) whenIdle?.()
  }
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    inFlight++
    ;(request.socket as Tracked)[LATEST] = response
    response.on('close', released)
  })
  // `100 Continue` is sent when the body is wanted, not before; other expectations meet a 400.
  const asUsual = (request: IncomingMessage, response: ServerResponse) =>
    server.emit('request', request, response)
  server.on('checkContinue', asUsual)
  server.on('checkExpectation', asUsual)

  const stopListening = () => {
    unwatch?.()
    if (server.listening) server.close()
  }
  const close = async () => {
    stopListening()
    server.closeAllConnections()
    await app.close()
  }

  return {
    inject: app.inject.bind(app) as FastifyInstance['inject'],
    async listen({ host, port }) {
      // Fastify binds `localhost` to every address it has, by servers we would not see.
      await app.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port })
      if (options.tls) {
        const https = app.server as unknown as HttpsServer
        const apply = (pair: Parameters<HttpsServer['setSecureContext']>[0]) =>
          https.setSecureContext(pair)
        unwatch = watchTls({ files: options.tls, apply, log: context.log })
      }
      const bound = server.address() as AddressInfo
      const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address
      const scheme = options.tls ? 'https' : 'http'
      return { url: `${scheme}://${name}:${bound.port}`, port: bound.port }
    },
    async drain(limitMs) {
      context.drain.abort()
      stopListening()
      server.closeIdleConnections()
      if (inFlight > 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, limitMs)
          whenIdle = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      const finished = inFlight === 0
      await close()
      return finished
    },
    close,
  }
}
