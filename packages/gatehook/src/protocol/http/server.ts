/**
 * The HTTP server: Node's server, Fastify's router, and `inject` for requests without a socket.
 * `serve.ts` runs a request through the pipeline.
 */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createHttps, Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate as immediate } from 'node:timers/promises'
import type { Response as Injected, InjectOptions } from 'light-my-request'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import type { Random } from '../../kernel/random.ts'
import { createAddressTurns } from './address-turns.ts'
import type { Endpoint } from './call.ts'
import { createConnectionLimit } from './connection-limit.ts'
import { vendorTypePattern } from './content-negotiation.ts'
import { createEgress, type Egress } from './egress.ts'
import {
  type DocumentationUrl,
  defaultLimits,
  type ErrorFormats,
  Exchange,
  type HttpLimits,
  type ObserveExchange,
  type Pipeline,
  type ServerContext,
} from './exchange.ts'
import { takeHandshakeTurns } from './handshake-turns.ts'
import { createIngress, createParseTurns, type Ingress, LARGE_BODY_SHARES } from './ingress.ts'
import { createInnerSender, type InnerListener, type SendInner } from './inner-request.ts'
import {
  adoptRequest,
  connectionOf,
  findReadBody,
  type MountedRequest,
  mountedOf,
} from './mounted-request.ts'
import {
  createConnectListener,
  createParserErrorListener,
  type ParserErrorOptions,
} from './parser-errors.ts'
import { createPathFinder } from './path-finder.ts'
import type { ResolveOrigin } from './proxy-trust.ts'
import { createRefusals } from './refusals.ts'
import { type HeadRules, parseRequestHead } from './request-head.ts'
import { createRequestLog } from './request-log.ts'
import { STRICT_TRANSPORT } from './response-steps.ts'
import { serve } from './serve.ts'
import { createStreamAuthority, type IdentifyAgain } from './stream-authority.ts'
import { readTls, type TlsFiles, watchTls } from './tls.ts'
import { type Listener, latestResponse, trackRequests } from './tracked-requests.ts'

export interface ServerOptions {
  readonly endpoints: readonly Endpoint[]
  readonly pipeline: Pipeline
  /** The pipeline of requests that handlers send; default: the same. */
  readonly innerPipeline?: Pipeline
  readonly log: Log
  readonly clock: Clock
  readonly random: Random
  readonly resolveOrigin: ResolveOrigin
  /** `Strict-Transport-Security` of the responses of the parser. Default: with subdomains. */
  readonly strictTransport?: string
  /** Addresses of trusted proxies. */
  readonly proxies?: readonly string[]
  /** The first segments of the paths declared under `/api`, which are never versions. */
  readonly roots: ReadonlySet<string>
  readonly limits?: Partial<HttpLimits> | undefined
  /** The bounds of unread responses, shared with the pipeline's step `shed`. */
  readonly egress?: Egress | undefined
  readonly ingress?: Ingress | undefined
  readonly identifyAgain: IdentifyAgain
  readonly tls?: TlsFiles | undefined
  /** The vendor in `application/vnd.<vendor>.api.v2+json`. Default: `gatehook`. */
  readonly vendor?: string | undefined
  readonly documentation?: DocumentationUrl | undefined
  readonly errorFormats?: ErrorFormats
  /** Names of fields that are declared secret: log lines have no value of such a parameter. */
  readonly secretFields?: ReadonlySet<string> | undefined
  /** Called once for each request, after its response (`operate/monitoring/`). */
  readonly observeExchange?: ObserveExchange | undefined
  /** See `ServerContext`. Default: any error other than a `Failure` is a bug. */
  readonly explainError?: ServerContext['explainError'] | undefined
  /** Serves a request inside its span; absent unless traces are exported. */
  readonly serveTraced?: ((exchange: Exchange, serve: () => void) => void) | undefined
}

interface BoundAddress {
  readonly url: string
  readonly port: number
  /** The URL of the listener for private networks, if there is one. */
  readonly internalUrl?: string
}

export interface HttpServer {
  /** Binds; resolves with the bound address, which has the assigned port if 0 was requested. */
  listen(bind: { host: string; port: number }): Promise<BoundAddress>
  /** Runs a request without a socket, for the CLI and for tests. */
  inject(call: string | InjectOptions): Promise<Injected>
  /** Runs a request of a handler, with the caller of its request. */
  readonly sendInner: SendInner
  /** Serves a request that another program has accepted. */
  adopt(request: IncomingMessage, response: ServerResponse, mounted: MountedRequest): void
  /** Serves the requests of a connection that needs no port. */
  connect(stream: Duplex): void
  /**
   * Makes every response close its connection, so that clients send their next request to another
   * node. New connections are still accepted.
   */
  leave(): void
  readonly isListening: boolean
  /**
   * Stops accepting connections, waits at most `limitMs` for requests that have arrived, and closes
   * all connections. Resolves with whether all requests finished.
   */
  drain(limitMs: number): Promise<boolean>
  /** Closes the server and all connections at once. */
  close(): Promise<void>
}

/**
 * Importing node:http by name loads its lazy exports as well, a web client among them. That takes
 * an eighth of the time of a start.
 */
const { createServer: createHttp } = process.getBuiltinModule('node:http')

const TLS_HANDSHAKE_MS = 10_000
/** Connections that wait to be accepted; beyond, clients repeat their first packet after 1 s. */
const BACKLOG = 4_096
const TIMEOUT_CHECKS_MS = 1000

type NodeServer = ReturnType<typeof createNodeServer>

export function createServer(options: ServerOptions): HttpServer {
  const limits: HttpLimits = { ...defaultLimits, ...options.limits }
  const { log, clock, random, documentation, serveTraced } = options
  const egress = options.egress ?? createEgress(clock)
  const turns = createAddressTurns(clock)
  const context: ServerContext = {
    log,
    logExchange: createRequestLog(log, options.secretFields ?? new Set()),
    clock,
    resolveOrigin: options.resolveOrigin,
    limits,
    vendor: vendorTypePattern(options.vendor ?? 'gatehook'),
    documentation,
    errorFormats: options.errorFormats ?? {},
    egress,
    ingress: options.ingress ?? createIngress(clock),
    largeIngress: createIngress(clock, LARGE_BODY_SHARES),
    parseTurns: createParseTurns(egress.share, clock),
    takeTurn: turns.take,
    refusals: createRefusals(clock),
    authority: createStreamAuthority(options),
    isLeaving: false,
    drain: new AbortController(),
    observeExchange: options.observeExchange ?? (() => {}),
    explainError: options.explainError ?? ((error) => error),
  }
  const now = () => clock.now()
  const { urlBytes, headerLines } = limits
  const rules: HeadRules = { urlBytes, headerLines, roots: options.roots, random, now }
  const findPath = createPathFinder(options.endpoints, options.pipeline, limits)
  const begin = (exchange: Exchange) => {
    if (!serveTraced) serve(exchange)
    else serveTraced(exchange, () => serve(exchange))
  }
  const listener: Listener = (request, response) => {
    const mounted = mountedOf(request)
    let head = parseRequestHead(request, clock.elapsedMs(), rules, mounted?.target)
    const { prepared, params, refusal } = findPath(head.routedPath)
    if (refusal && !head.refusal) head = { ...head, refusal }
    const readBody = mounted && findReadBody(request)
    if (readBody) head = { ...head, refusal: readBody }
    begin(new Exchange(context, prepared, head, request, response, params))
  }
  const { innerPipeline = options.pipeline } = options
  const listenInner: InnerListener = (outer, route, request, response) => {
    const head = parseRequestHead(request, clock.elapsedMs(), rules)
    const { prepared, params } = findPath(head.routedPath)
    // The value of a parameter must not lead to another route, such as `/events/stream`.
    const refusal =
      head.refusal ?? (prepared.route === route ? undefined : new Failure('not_found'))
    const path = { ...prepared, steps: innerPipeline[prepared.kind] }
    const checked = { ...head, refusal }
    const exchange = new Exchange(context, path, checked, request, response, params, outer)
    begin(exchange)
    return exchange
  }
  const server = createNodeServer(options.tls, limits)
  server.on('connection', turns.noteAccept)
  // Node 24 ignores further lines; by one more, `request-head.ts` finds that there are too many.
  server.maxHeadersCount = headerLines + 1
  const { takeTurn } = context
  const errorOptions: ParserErrorOptions = {
    log,
    takeTurn,
    random,
    now,
    urlBytes,
    refusals: context.refusals,
    strictTransport: options.strictTransport ?? STRICT_TRANSPORT,
    documentation,
    latestResponse,
  }
  server.on('clientError', createParserErrorListener(errorOptions))
  server.on('connect', createConnectListener(errorOptions))
  return operate(server, listener, context, { ...options, listenInner })
}

function createNodeServer(tls: TlsFiles | undefined, limits: HttpLimits) {
  const node = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(TIMEOUT_CHECKS_MS, limits.headersTimeoutMs / 2),
    requireHostHeader: false, // `request-head.ts` requires it, with the usual error envelope
    noDelay: true,
    optimizeEmptyRequests: true, // a request without a body emits no stream events
  }
  if (!tls) return createHttp(node)
  const handshakeTimeout = TLS_HANDSHAKE_MS
  return createHttps({ ...node, ...readTls(tls), handshakeTimeout, ALPNProtocols: ['http/1.1'] })
}

/** To accept a connection, to read from it, and to read the rest of a TLS record. */
const ACCEPT_TURNS = 3

/**
 * Lets the event loop accept connections and read requests that have reached this machine. Closing
 * the server would reset connections in the backlog, and requests in the buffers of idle ones.
 */
async function acceptPending(): Promise<void> {
  for (let count = 0; count < ACCEPT_TURNS; count++) await immediate()
}

/** Adds listening, draining and closing. */
function operate(
  server: NodeServer,
  listener: Listener,
  context: ServerContext,
  options: ServerOptions & { readonly listenInner: InnerListener },
): HttpServer {
  const connections = createConnectionLimit(context.limits.connections, options.proxies)
  const { takeTurn } = context
  const addressOf = (request: IncomingMessage): string => {
    const { address, isEncrypted } = connectionOf(request)
    return context.resolveOrigin(address, isEncrypted, request.headers, '').address
  }
  const requests = trackRequests(server, { listener, connections, takeTurn, addressOf })
  // After the limit of connections, which refuses some.
  if (server instanceof HttpsServer) {
    const { proxies } = options
    takeHandshakeTurns(server, { timeoutMs: TLS_HANDSHAKE_MS, takeTurn, proxies })
  }
  let stopWatching: (() => Promise<void>) | undefined
  let closed: Promise<unknown> | undefined

  const stopListening = () => {
    void stopWatching?.()
    if (server.listening) {
      closed = once(server, 'close')
      server.close()
    }
    return closed
  }
  const close = async () => {
    const stopped = stopListening()
    requests.cut()
    await stopped
  }

  return {
    async inject(call) {
      const { inject } = await import('light-my-request') // most processes never need it
      return inject(listener, call)
    },
    sendInner: createInnerSender(options.listenInner, context.limits.urlBytes),
    adopt(request, response, mounted) {
      adoptRequest(request, mounted)
      requests.adopt(request, response)
    },
    connect: (stream) => void server.emit('connection', stream),
    async listen({ host, port }) {
      // `localhost` may resolve to several addresses; every system has this one.
      server.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port, backlog: BACKLOG })
      await once(server, 'listening')
      if (options.tls && server instanceof HttpsServer) {
        const apply = server.setSecureContext.bind(server)
        stopWatching = watchTls({ files: options.tls, apply, log: context.log })
      }
      const bound = server.address() as AddressInfo
      const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address
      const scheme = options.tls ? 'https' : 'http'
      return { url: `${scheme}://${name}:${bound.port}`, port: bound.port }
    },
    leave() {
      context.isLeaving = true
    },
    get isListening() {
      return server.listening
    },
    async drain(limitMs) {
      context.isLeaving = true
      await acceptPending()
      context.drain.abort()
      stopListening()
      server.closeIdleConnections()
      const finished = await requests.waitForIdle(limitMs)
      await close()
      return finished
    },
    close,
  }
}
