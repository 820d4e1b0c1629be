/**
 * Sends requests to receivers, and fetches documents. It checks each address when it is dialed and
 * bounds every part of a response (§9.5, §9.6, §9.9). The only file that opens outbound
 * connections; the delivery engine schedules retries.
 */
import { isIP, type Socket } from 'node:net'
import { createSecureContext, getCACertificates } from 'node:tls'
import { Agent, buildConnector, Client, Pool } from 'undici'
import type { Clock } from '../../kernel/clock.ts'
import { isDialable } from './address-guard.ts'
import type { Outcome, Send } from './attempt.ts'
import { boundDecodedBody } from './bounded-response.ts'
import { createConnectionPool } from './connection-pool.ts'
import { countBodies } from './counted-handler.ts'
import {
  type ClientConnection,
  type ExchangeResult,
  failedExchange,
  type OnExchangeEnd,
  PostExchange,
} from './post-exchange.ts'
import {
  createDnsResolver,
  createGuardedLookup,
  type ResolveHost,
  resolveBySystem,
} from './resolve-host.ts'
import { guardResponses, type ResponseGuard, type ResponseGuardLimits } from './response-guard.ts'
import { CODE, createCodedError, describeFailure } from './socket-error.ts'
import { createTargetParser } from './target.ts'

/** The one that knows `Request`, `FormData` and `Response` of own code, which may replace it. */
const platformFetch = globalThis.fetch

export interface TransportOptions {
  readonly clock: Pick<Clock, 'elapsedMs'>
  /** `GATEHOOK_WEBHOOK_ALLOW_PRIVATE`. */
  readonly allowPrivate: boolean
  /** `GATEHOOK_WEBHOOK_TIMEOUT_MS`, for attempts without a timeout of their own. */
  readonly timeoutMs: number
  /** PEM of additional trusted authorities (`GATEHOOK_WEBHOOK_CA`). */
  readonly ca?: string | undefined
  /** Default: the name servers; with `allowPrivate`, the system's resolver. */
  readonly resolve?: ResolveHost | undefined
}

export interface Transport {
  readonly send: Send
  /**
   * `fetch` for own code: the same addresses and connections; redirects are returned, and a body
   * has at most `LIMITS.fetchedBytes`, on the wire and decoded.
   */
  readonly guardedFetch: typeof fetch
  /** Returns the number of open or connecting sockets, and how many of them are idle. */
  connections(): { open: number; idle: number }
  /** Ends all attempts as `aborted`. */
  close(): void
}

export const LIMITS = {
  /** Bytes of the response body that the outcome contains. */
  loggedBodyBytes: 16 * 1024,
  /** A longer response body is cut; its status counts. */
  bodyBytes: 64 * 1024,
  headerBytes: 16 * 1024,
  headerCount: 100,
  /** Characters of response headers that the outcome contains. */
  loggedHeaderCharacters: 4 * 1024,
  /** Interim responses (1xx) before the final one; their heads have `headerBytes` together. */
  interimResponses: 16,
  /** All bytes of a response, including its framing. */
  responseBytes: 256 * 1024,
  /** That of 400 chunks of a byte; each eight bytes of a body give one back. */
  framingBytes: 2 * 1024,
  bodyPerFraming: 8,
  /** Bytes of a body that `fetch` returns. */
  fetchedBytes: 8 * 1024 * 1024,
  /** Time before the next address of the name is tried. */
  addressMs: 2_000,
  idleMs: 10_000,
  maxIdle: 512,
  maxIdlePerOrigin: 128,
} as const

/** Of responses that `fetch` reads: a row of 12 bytes may be a chunk, or a word of a stream. */
const FETCH_LIMITS = {
  ...LIMITS,
  responseBytes: 2 * LIMITS.fetchedBytes,
  framingBytes: 32 * 1024,
  bodyPerFraming: 2,
} as const

/**
 * Creates a transport with its own connection pool.
 *
 * @example
 * const transport = createTransport({ clock: wallClock, allowPrivate: false, timeoutMs: 15_000 })
 * const outcome = await transport.send({ url, headers, body })
 */
export function createTransport(options: TransportOptions): Transport {
  const { clock, allowPrivate } = options
  const connect = createGuardedConnector(options)
  const parseTarget = createTargetParser(allowPrivate)
  const pool = createConnectionPool<ClientConnection>(
    (origin) => openConnection(origin, LIMITS, connect, (connection) => pool.onEnded(connection)),
    LIMITS,
  )

  let isClosed = false

  const send: Send = (request, signal) =>
    new Promise<Outcome>((resolve) => {
      const startedMs = clock.elapsedMs()
      let connection: ClientConnection | undefined
      let isResent = false
      let hasEnded = false
      const finish = (result: ExchangeResult) => {
        if (hasEnded) return
        hasEnded = true
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        resolve(outcomeOf(result, Math.round(clock.elapsedMs() - startedMs)))
      }
      /** Drops the connection, so that no later request receives the rest of this response. */
      const stop = (reason: 'timeout' | 'aborted') => {
        finish(failedExchange(describeFailure(reason)))
        if (connection) pool.drop(connection)
      }
      const abort = () => stop('aborted')
      const timer = setTimeout(stop, request.timeoutMs ?? options.timeoutMs, 'timeout')
      signal?.addEventListener('abort', abort)
      if (isClosed || signal?.aborted) return abort()
      const { problem, origin, path } = parseTarget(request.url)
      if (problem) return finish(failedExchange(describeFailure('blocked')))

      const sendOn = (acquired: ClientConnection): void => {
        connection = acquired
        new PostExchange(acquired, LIMITS, onEnd).start(path, request)
      }
      const onEnd: OnExchangeEnd = (used, result, isReusable) => {
        if (isReusable) pool.release(used)
        else pool.drop(used)
        if (result !== 'stale') return finish(result)
        if (isResent || hasEnded || isClosed)
          return finish(failedExchange(describeFailure('reset')))
        isResent = true
        sendOn(pool.open(origin))
      }
      sendOn(pool.acquire(origin))
    })

  const agent = createFetchAgent(connect)
  const guardedFetch: typeof fetch = async (input, init) => {
    // Not every version of the platform's types has the dispatcher.
    const guarded = { redirect: 'manual', ...init, dispatcher: agent } as object as RequestInit
    const response = await platformFetch(input, guarded)
    return boundDecodedBody(response, LIMITS.fetchedBytes)
  }

  return {
    send,
    guardedFetch,
    connections: () => ({ open: pool.size, idle: pool.idle }),
    close() {
      isClosed = true
      pool.close()
      agent.destroy().catch(() => undefined)
    },
  }
}

function outcomeOf(result: ExchangeResult, durationMs: number): Outcome {
  if (result.kind === 'failed') return { ...result, durationMs }
  const { isWhole, ...response } = result
  const retryAfter = response.headers['retry-after']
  return {
    ...response,
    ...(isWhole && { isWhole }),
    durationMs,
    ...(retryAfter !== undefined && { retryAfter }),
  }
}

type Connect = (
  target: buildConnector.Options,
  callback: (error: Error | null, socket: Socket | null) => void,
) => Socket | undefined

interface ConnectionLimits extends ResponseGuardLimits {
  readonly idleMs: number
}

export function openConnection(
  origin: string,
  limits: ConnectionLimits,
  connect: Connect,
  onEnded: (connection: ClientConnection) => void,
): ClientConnection {
  const client = new Client(origin, {
    connect: (target, callback) => {
      connection.requestCount = 0
      connection.socket = connect(target, (error, socket) => {
        if (!socket) return callback(error!, null)
        connection.guard = guardResponses(socket, limits)
        callback(null, socket)
      })
    },
    pipelining: 1,
    maxHeaderSize: limits.headerBytes,
    keepAliveTimeout: limits.idleMs,
    keepAliveMaxTimeout: limits.idleMs,
    // `send` limits the whole attempt; undici's timeouts restart at every byte.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  client.on('disconnect', () => onEnded(connection))
  const connection: ClientConnection = {
    origin,
    client,
    requestCount: 0,
    socket: undefined,
    guard: undefined,
    destroy() {
      client.destroy().catch(() => undefined)
      connection.socket?.destroy() // the client does not know a socket that is still connecting
    },
  }
  return connection
}

/** Returns a dispatcher for `fetch`, whose connections bound what arrives (§9.9). */
function createFetchAgent(connect: Connect): Agent {
  const openClient = (origin: URL, options: object) => {
    let guard: ResponseGuard | undefined
    const client = new Client(origin, {
      ...options,
      connect: (target, callback) =>
        connect(target, (error, socket) => {
          if (!socket) return callback(error!, null)
          guard = guardResponses(socket, FETCH_LIMITS)
          callback(null, socket)
        }),
    })
    const dispatch = client.dispatch.bind(client)
    client.dispatch = (request, handler) =>
      dispatch(
        request,
        countBodies(handler, () => guard),
      )
    return client
  }
  return new Agent({
    factory: (origin, options) => new Pool(origin, { ...options, factory: openClient }),
    pipelining: 1,
    maxHeaderSize: LIMITS.headerBytes,
    maxResponseSize: LIMITS.fetchedBytes,
    keepAliveTimeout: LIMITS.idleMs,
  })
}

type Dial = (...parameters: Parameters<buildConnector.connector>) => Socket

/** Returns a connector to addresses that an operator has configured; it verifies certificates. */
export function createTrustedConnector(): Connect {
  const dial = buildConnector({
    rejectUnauthorized: true,
    allowH2: false,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: LIMITS.addressMs,
    timeout: 0, // an exchange has a timeout
  }) as Dial
  return (target, callback) =>
    dial(target, (...[error, socket]) => (error ? callback(error, null) : callback(null, socket)))
}

/** Returns a connector that dials allowed addresses only and verifies certificates. */
function createGuardedConnector({ allowPrivate, ca, resolve }: TransportOptions): Connect {
  const isAllowed = (address: string) => isDialable(address, allowPrivate)
  const resolveHost = resolve ?? (allowPrivate ? resolveBySystem : createDnsResolver())
  const authorities = ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] }
  const dial = buildConnector({
    lookup: createGuardedLookup(resolveHost, isAllowed),
    // Created once: it costs milliseconds.
    secureContext: createSecureContext(authorities),
    rejectUnauthorized: true, // regardless of NODE_TLS_REJECT_UNAUTHORIZED
    allowH2: false,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: LIMITS.addressMs,
    timeout: 0, // `send` has a timeout
  }) as Dial
  return (target, callback) => {
    // The lookup does not run for an address, so check it here.
    if (isIP(target.hostname) !== 0 && !isAllowed(target.hostname)) {
      queueMicrotask(() => callback(createCodedError(CODE.blocked), null))
      return undefined
    }
    return dial(target, (...[error, socket]) => {
      if (error) return callback(error, null)
      // A second check, of the address that accepted the connection.
      if (socket.remoteAddress === undefined || isAllowed(socket.remoteAddress)) {
        return callback(null, socket)
      }
      socket.destroy()
      callback(createCodedError(CODE.address), null)
    })
  }
}
