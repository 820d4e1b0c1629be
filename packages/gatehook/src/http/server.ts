/**
 * The door to HTTP: node's server, Fastify's router, and `inject` for calls without a socket. What
 * a call goes through is `exchange.ts`.
 */

import { once } from 'node:events'
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttps, Server as HttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate as immediate } from 'node:timers/promises'
import createRouter from 'find-my-way'
import type { Response as Injected, InjectOptions } from 'light-my-request'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Log } from '../kernel/log.ts'
import type { Random } from '../kernel/random.ts'
import { type ArrivalRules, readArrival } from './arrival.ts'
import type { Endpoint } from './call.ts'
import { createEgress, type Egress } from './egress.ts'
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
  /** Bounds what waits to be read; shared with the pipeline's step `shed`. */
  readonly egress?: Egress | undefined
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
  /** A call without a socket: for the CLI and for tests. */
  inject(call: string | InjectOptions): Promise<Injected>
  /**
   * From here on every answer closes its connection, so that clients that keep connections open
   * take their next request elsewhere. New connections are still accepted.
   */
  leave(): void
  /** Whether connections are accepted. */
  readonly isListening: boolean
  /**
   * No new connections; requests in flight finish, at most `limitMs` milliseconds long; then every
   * connection is closed. A request that had arrived before is in flight. Resolves with whether all
   * finished.
   */
  drain(limitMs: number): Promise<boolean>
  /** Closes at once, connections included. */
  close(): Promise<void>
}

/** The latest response of a connection, for `parser-errors.ts`. */
const LATEST = Symbol('latest')
/** How many responses of a connection are not closed. */
const OPEN = Symbol('open')
type Tracked = Socket & { [LATEST]?: ServerResponse; [OPEN]?: number }

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze(Object.create(null))
const NO_QUERY = Object.freeze({})
const TLS_HANDSHAKE_MS = 10_000
const TIMEOUT_CHECKS_MS = 1000

type Listener = (request: IncomingMessage, response: ServerResponse) => void
type HttpServerOfNode = ReturnType<typeof nodeServer>

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
    egress: options.egress ?? createEgress(clock),
    leaving: false,
    drain: new AbortController(),
  }
  const rules: ArrivalRules = { urlBytes: limits.urlBytes, roots: options.roots, random }
  const find = routes(options.endpoints, options.pipeline, limits)
  const listener: Listener = (request, response) => {
    const arrival = readArrival(request, clock.elapsedMs(), rules)
    const { plan, params, refusal } = find(arrival.routed)
    const judged = refusal && !arrival.refusal ? { ...arrival, refusal } : arrival
    serve(new Exchange(context, plan, judged, request, response, params))
  }
  const server = nodeServer(options.tls, limits)
  const refusals: ParserErrorOptions = {
    log,
    random,
    urlBytes: limits.urlBytes,
    documentation,
    latest: (socket) => (socket as Tracked)[LATEST],
  }
  server.on('clientError', answerParserErrors(refusals))
  server.on('connect', refuseTunnels(refusals))
  return operate(server, listener, context, options)
}

/** What a path leads to. */
interface Found {
  readonly plan: Plan
  readonly params: Readonly<Record<string, string>>
  readonly refusal?: Failure
}

/** Every path once, whatever the method: a method a path has not is 405, not 404. */
function routes(
  endpoints: readonly Endpoint[],
  pipeline: Pipeline,
  limits: Limits,
): (path: string) => Found {
  const plan: Plan = {
    kind: 'unknown',
    route: '*',
    methods: {},
    allow: '',
    steps: pipeline.unknown,
  }
  const nowhere: Found = { plan, params: NO_PARAMS }
  const unused = () => {}
  const router = createRouter({
    maxParamLength: limits.urlBytes,
    querystringParser: () => NO_QUERY,
    onBadUrl: unused,
  })
  for (const endpoint of endpoints) {
    router.on('GET', endpoint.path, unused, planOf(endpoint, pipeline))
  }
  return (path) => {
    const found = router.find('GET', path)
    if (!found) return nowhere
    const { store, params } = found as { store: Plan | null; params: Found['params'] }
    if (!store) {
      const refusal = new Failure('invalid_request', 'A percent escape in the path is broken.')
      return { ...nowhere, refusal }
    }
    // The router lets `/users/` match `/users/:id`.
    for (const name in params) if (params[name] === '') return nowhere
    return { plan: store, params }
  }
}

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

function nodeServer(tls: TlsFiles | undefined, limits: Limits) {
  const node = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(TIMEOUT_CHECKS_MS, limits.headersTimeoutMs / 2),
    requireHostHeader: false, // node would answer without our envelope; `arrival.ts` requires it
    noDelay: true,
  }
  if (!tls) return createHttp(node)
  const handshakeTimeout = TLS_HANDSHAKE_MS
  return createHttps({ ...node, ...readTls(tls), handshakeTimeout, ALPNProtocols: ['http/1.1'] })
}

/** Hands requests to the listener; `landed` resolves with whether all are answered in time. */
function receive(server: HttpServerOfNode, listener: Listener) {
  let inFlight = 0
  let whenIdle: (() => void) | undefined
  const release = (socket: Tracked, most: number) => {
    const count = Math.min(most, socket[OPEN] ?? 0)
    if (count === 0) return
    socket[OPEN]! -= count
    inFlight -= count
    if (inFlight === 0) whenIdle?.()
  }
  function closed(this: ServerResponse) {
    release(this.req.socket, 1)
  }
  const take: Listener = (request, response) => {
    const socket: Tracked = request.socket
    inFlight++
    socket[OPEN] = (socket[OPEN] ?? 0) + 1
    socket[LATEST] = response
    response.on('close', closed)
    listener(request, response)
  }
  server.on('request', take)
  // `100 Continue` is sent when the body is wanted, not before; other expectations meet a 400.
  server.on('checkContinue', take)
  server.on('checkExpectation', take)
  // Node closes those that speak HTTP. One in its TLS handshake it does not know, one that asks for
  // a tunnel it forgets, and with it the responses that wait there for their turn.
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('connect', (_request, stream) => {
    stream.once('close', () => release(stream as Socket, Number.POSITIVE_INFINITY))
  })
  return {
    cut() {
      for (const socket of sockets) socket.destroy()
    },
    async landed(limitMs: number): Promise<boolean> {
      if (inFlight === 0) return true
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, limitMs)
        whenIdle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      return inFlight === 0
    },
  }
}

/**
 * Lets the event loop accept and read what has reached this machine. Closing the listener would
 * reset connections that wait to be accepted; closing an idle connection, a request in its buffer.
 */
async function arrivals(): Promise<void> {
  for (let turn = 0; turn < ARRIVAL_TURNS; turn++) await immediate()
}

/** One to accept a connection, one to read from it, one for a TLS record that came in parts. */
const ARRIVAL_TURNS = 3

/** Listening, draining, closing. */
function operate(
  server: HttpServerOfNode,
  listener: Listener,
  context: Context,
  options: ServerOptions,
): HttpServer {
  const flights = receive(server, listener)
  let unwatch: (() => Promise<void>) | undefined
  let ended: Promise<unknown> | undefined

  const stopListening = () => {
    unwatch?.()
    if (server.listening) {
      ended = once(server, 'close')
      server.close()
    }
    return ended
  }
  const close = async () => {
    const stopped = stopListening()
    flights.cut()
    await stopped
  }

  return {
    async inject(call) {
      const { inject } = await import('light-my-request') // most processes never need it
      return inject(listener, call)
    },
    async listen({ host, port }) {
      // Of the addresses `localhost` may have, the one everybody has.
      server.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port })
      await once(server, 'listening')
      if (options.tls && server instanceof HttpsServer) {
        const apply = server.setSecureContext.bind(server)
        unwatch = watchTls({ files: options.tls, apply, log: context.log })
      }
      const bound = server.address() as AddressInfo
      const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address
      const scheme = options.tls ? 'https' : 'http'
      return { url: `${scheme}://${name}:${bound.port}`, port: bound.port }
    },
    leave() {
      context.leaving = true
    },
    get isListening() {
      return server.listening
    },
    async drain(limitMs) {
      context.leaving = true
      await arrivals()
      context.drain.abort()
      stopListening()
      server.closeIdleConnections()
      const finished = await flights.landed(limitMs)
      await close()
      return finished
    },
    close,
  }
}
