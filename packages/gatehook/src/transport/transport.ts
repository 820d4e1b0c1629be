/**
 * The door to receivers: one POST over a socket whose address was judged when it was dialled, and
 * an answer of which everything is bounded (§9.5, §9.6, §9.9). The only file that opens
 * connections; when to try again is the engine's.
 */
import { isIP, type Socket } from 'node:net'
import { createSecureContext, getCACertificates } from 'node:tls'
import { buildConnector, Client } from 'undici'
import type { Clock } from '../kernel/clock.ts'
import { isDialable } from './address-guard.ts'
import { guardAnswers } from './answer-bytes.ts'
import type { Outcome, Send } from './attempt.ts'
import { type Done, Exchange, failed, type Line, type Result } from './exchange.ts'
import { keepConnections } from './keep-alive.ts'
import { guardedLookup, nameServers, type ResolveHost, systemNames } from './resolve-host.ts'
import { CODE, coded, diagnosis } from './socket-error.ts'
import { targetReader } from './target.ts'

export interface TransportOptions {
  readonly clock: Pick<Clock, 'elapsedMs'>
  /** `GATEHOOK_WEBHOOK_ALLOW_PRIVATE`. */
  readonly allowPrivate: boolean
  /** `GATEHOOK_WEBHOOK_TIMEOUT_MS`, for attempts that name no other. */
  readonly timeoutMs: number
  /** PEM of authorities trusted beside the usual ones (`GATEHOOK_WEBHOOK_CA`). */
  readonly ca?: string | undefined
  /** Default: the name servers; with `allowPrivate` the system's way. */
  readonly resolve?: ResolveHost | undefined
}

export interface Transport {
  readonly send: Send
  /** Sockets open or being opened, and how many of them wait for a next attempt. */
  connections(): { open: number; idle: number }
  /** Ends what runs as `aborted`. */
  close(): void
}

export const LIMITS = {
  /** Of the answer's body, for the log. */
  keptBodyBytes: 16 * 1024,
  /** A longer body is cut; the status stands. */
  bodyBytes: 64 * 1024,
  headerBytes: 16 * 1024,
  headerCount: 100,
  /** Of headers, for the log. */
  keptHeaderCharacters: 4 * 1024,
  /** Interim answers (1xx) before the real one. */
  interimAnswers: 16,
  /** All bytes of one answer, its framing included. */
  answerBytes: 256 * 1024,
  /** Before the next address of the name is tried. */
  addressMs: 2_000,
  idleMs: 10_000,
  maxIdle: 512,
  maxIdlePerOrigin: 128,
} as const

export function createTransport(options: TransportOptions): Transport {
  const { clock, allowPrivate } = options
  const connect = guardedConnector(options)
  const target = targetReader(allowPrivate)
  const lines = keepConnections<Line>(
    (origin) => openLine(origin, connect, (line) => lines.lost(line)),
    LIMITS,
  )

  let closed = false

  const send: Send = (request, signal) =>
    new Promise<Outcome>((resolve) => {
      const startedMs = clock.elapsedMs()
      let line: Line | undefined
      let [again, ended] = [false, false]
      const finish = (result: Result) => {
        if (ended) return
        ended = true
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        resolve(outcomeOf(result, Math.round(clock.elapsedMs() - startedMs)))
      }
      /** The answer came too late or is not wanted: nobody may find its rest on the socket. */
      const stop = (reason: 'timeout' | 'aborted') => {
        finish(failed(diagnosis(reason)))
        if (line) lines.drop(line)
      }
      const abort = () => stop('aborted')
      const timer = setTimeout(stop, request.timeoutMs ?? options.timeoutMs, 'timeout')
      signal?.addEventListener('abort', abort)
      if (closed || signal?.aborted) return abort()
      const { problem, origin, path } = target(request.url)
      if (problem) return finish(failed(diagnosis('blocked')))

      const run = (on: Line): void => {
        line = on
        new Exchange(on, LIMITS, done).start(path, request)
      }
      const done: Done = (on, result, reusable) => {
        if (reusable) lines.giveBack(on)
        else lines.drop(on)
        if (result !== 'stale') return finish(result)
        if (again || ended || closed) return finish(failed(diagnosis('reset')))
        again = true
        run(lines.open(origin))
      }
      run(lines.take(origin))
    })

  return {
    send,
    connections: () => ({ open: lines.size, idle: lines.idle }),
    close() {
      closed = true
      lines.close()
    },
  }
}

function outcomeOf(result: Result, durationMs: number): Outcome {
  if (result.kind === 'failed') return { ...result, durationMs }
  const { kind, status, headers, body } = result
  const retryAfter = headers['retry-after']
  if (retryAfter === undefined) return { kind, status, headers, body, durationMs }
  return { kind, status, headers, body, durationMs, retryAfter }
}

type Connect = (
  to: buildConnector.Options,
  callback: (error: Error | null, socket: Socket | null) => void,
) => Socket | undefined

function openLine(origin: string, connect: Connect, lost: (line: Line) => void): Line {
  const client = new Client(origin, {
    connect: (to, callback) => {
      line.served = 0
      line.socket = connect(to, (error, socket) => {
        if (!socket) return callback(error!, null)
        line.answers = guardAnswers(socket, LIMITS)
        callback(null, socket)
      })
    },
    pipelining: 1,
    maxHeaderSize: LIMITS.headerBytes,
    keepAliveTimeout: LIMITS.idleMs,
    keepAliveMaxTimeout: LIMITS.idleMs,
    // One limit for the whole attempt, ours: undici's begin anew with each byte of a trickle.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  client.on('disconnect', () => lost(line))
  const line: Line = {
    origin,
    client,
    served: 0,
    socket: undefined,
    answers: undefined,
    destroy() {
      client.destroy().catch(() => undefined)
      line.socket?.destroy() // it may still be connecting, of which the client knows nothing
    },
  }
  return line
}

/** Connects to addresses that may be dialled, and to no other; with TLS it verifies. */
function guardedConnector({ allowPrivate, ca, resolve }: TransportOptions): Connect {
  const judge = (address: string) => isDialable(address, allowPrivate)
  const names = resolve ?? (allowPrivate ? systemNames : nameServers())
  const authorities = ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] }
  const dial = buildConnector({
    lookup: guardedLookup(names, judge),
    // Read once: for every connection anew it costs milliseconds.
    secureContext: createSecureContext(authorities),
    rejectUnauthorized: true, // whatever NODE_TLS_REJECT_UNAUTHORIZED says
    allowH2: false,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: LIMITS.addressMs,
    timeout: 0, // the attempt has one
  }) as (...of: Parameters<buildConnector.connector>) => Socket
  return (to, callback) => {
    // An address needs no lookup, so nobody would have judged it.
    if (isIP(to.hostname) !== 0 && !judge(to.hostname)) {
      queueMicrotask(() => callback(coded(CODE.blocked), null))
      return undefined
    }
    return dial(to, (...[error, socket]) => {
      if (error) return callback(error, null)
      // Belt and braces: the address that really answers.
      if (socket.remoteAddress === undefined || judge(socket.remoteAddress)) {
        return callback(null, socket)
      }
      socket.destroy()
      callback(coded(CODE.blocked), null)
    })
  }
}
