/**
 * The answer goes out: what was thrown becomes a problem, headers are merged and framed, one line
 * is logged (§12.7). The only file that writes to node's response.
 */
import type { ServerResponse } from 'node:http'
import { Failure } from '../kernel/failure.ts'
import { redactUrl } from '../kernel/log.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Answer } from './call.ts'
import { depart, departNow, writeStream } from './departure.ts'
import { type Hold, LARGE_BYTES, overloaded, ownerOf } from './egress.ts'
import type { Exchange } from './exchange.ts'
import { JSON_TYPE } from './media.ts'
import { problem } from './problem.ts'
import { NO_SNIFF, NOTHING_LOADED } from './protection.ts'

/** A `Failure` as its problem; anything else is a bug: logged whole, answered with the id only. */
export function failed(exchange: Exchange, error: unknown): Answer {
  const { context, id } = exchange
  let failure: Failure
  if (error instanceof Failure) {
    failure = error
    exchange.detail = error.detail
  } else {
    const err = error instanceof Error ? error : new Error(`thrown: ${String(error)}`)
    context.log.error({ err, request_id: id, route: exchange.route }, 'bug')
    failure = new Failure('internal_error')
  }
  exchange.failure = failure.code
  const shaped = context.errorShapes[exchange.kind] ?? problem
  return shaped(failure, {
    requestId: id,
    accept: exchange.headers.accept,
    path: exchange.path,
    documentation: context.documentation,
  })
}

/**
 * Writes and logs; `undefined` where the caller is gone and only the line remains to be written.
 */
export function write(exchange: Exchange, answer: Answer | undefined): void {
  try {
    writeAndLog(exchange, answer)
  } finally {
    exchange.context.egress.large.end(exchange.response)
  }
}

function writeAndLog(exchange: Exchange, answer: Answer | undefined): void {
  if (!answer || exchange.response.destroyed) {
    record(exchange, undefined)
    return
  }
  try {
    answer = admitted(exchange, answer)
    send(exchange, answer)
  } catch (error) {
    // A header node refuses to write, for example. What is merged into it is not trusted again.
    const bare = failed(exchange, error)
    if (exchange.response.headersSent) exchange.response.destroy()
    else {
      for (const name of Object.keys(exchange.out)) delete exchange.out[name]
      for (const name of exchange.response.getHeaderNames()) exchange.response.removeHeader(name)
      send(exchange, bare)
    }
    answer = bare
  }
  record(exchange, answer)
}

/**
 * The answer, counted before it is sent where it is large (§11.5). Where too much waits to be read
 * already, reading is refused with 503; what was changed is answered in any case.
 */
function admitted(exchange: Exchange, answer: Answer): Answer {
  const body = answer.json ?? answer.raw
  if (body === undefined || body.length < LARGE_BYTES || exchange.method !== 'GET') return answer
  const { egress } = exchange.context
  const bytes = Buffer.byteLength(body)
  const owner = ownerOf(exchange)
  const refused = (error: Error): Answer => {
    delete exchange.out.etag
    return failed(exchange, error)
  }
  if (bytes > egress.bounds.responseBytes) {
    return refused(new Error(`a response of ${bytes} bytes is over the bound`))
  }
  if (!egress.makeSpace(owner, bytes)) {
    departNow()
    if (!egress.makeSpace(owner, bytes)) return refused(overloaded())
  }
  const { response } = exchange
  exchange.hold = egress.hold({ owner, bytes, cut: () => response.destroy() })
  response.once('close', exchange.hold.release)
  return answer
}

function send(exchange: Exchange, answer: Answer): void {
  const { response, method } = exchange
  const { status } = answer
  const body = answer.json ?? answer.raw
  const headers: Record<string, string | number | string[]> = {
    'x-request-id': exchange.id,
    'x-content-type-options': NO_SNIFF,
    'content-security-policy': NOTHING_LOADED,
  }
  merge(headers, exchange.out)
  if (answer.headers) merge(headers, answer.headers)
  if (exchange.closing || exchange.context.leaving) headers.connection = 'close'
  if (answer.cookies) headers['set-cookie'] = [...answer.cookies]
  if (answer.stream) {
    pour(exchange, status, headers, answer.stream)
    return
  }
  let length = 0
  if (status !== 204 && status !== 304) {
    if (answer.json !== undefined) headers['content-type'] ??= JSON_TYPE
    if (body !== undefined) length = Buffer.byteLength(body)
    headers['content-length'] = length
  }
  response.writeHead(status, headers)
  depart({
    response,
    body: length === 0 || method === 'HEAD' ? undefined : body,
    length,
    egress: exchange.context.egress,
    call: exchange,
    hold: exchange.hold,
  })
}

/** A body without an end known beforehand; the line of the request is logged at its beginning. */
function pour(
  exchange: Exchange,
  status: number,
  headers: Record<string, string | number | string[]>,
  write: NonNullable<Answer['stream']>,
): void {
  const { response, method, context } = exchange
  response.writeHead(status, headers)
  if (method === 'HEAD') return void response.end()
  response.flushHeaders()
  const gone = new AbortController()
  const { signal } = context.drain
  const close = () => gone.abort()
  signal.addEventListener('abort', close)
  let hold: Hold | undefined
  const release = () => {
    hold?.release()
    hold = undefined
  }
  response.on('drain', release)
  response.on('close', () => {
    signal.removeEventListener('abort', close)
    close()
    release()
  })
  const owner = ownerOf(exchange)
  const cut = () => response.destroy()
  write({
    write(text) {
      if (gone.signal.aborted) return false
      const isFree = writeStream(response, text, () => hold?.progress())
      if (!isFree) hold ??= context.egress.hold({ owner, bytes: response.writableLength, cut })
      return isFree
    },
    drained: () => drained(response, gone.signal),
    end: () => void response.end(),
    closed: gone.signal,
  })
}

/** Resolves when the socket took what was written, or there is nobody to write to. */
const drained = (response: ServerResponse, closed: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (closed.aborted || !response.writableNeedDrain) return resolve()
    const done = () => {
      response.off('drain', done)
      closed.removeEventListener('abort', done)
      resolve()
    }
    response.on('drain', done)
    closed.addEventListener('abort', done)
  })

/**
 * Names are lower-cased, so that one header is one, however two rooms spell it; lists are joined.
 */
function merge(
  into: Record<string, string | number | string[]>,
  from: Record<string, string>,
): void {
  for (const written in from) {
    const name = written.toLowerCase()
    const value = from[written]!
    const before = into[name]
    into[name] =
      before !== undefined && (name === 'link' || name === 'vary') ? `${before}, ${value}` : value
  }
}

function record(exchange: Exchange, answer: Answer | undefined): void {
  const { context, principal, recognized, identified } = exchange
  const caller: Partial<Principal> | undefined = principal ?? recognized ?? identified
  const status = answer?.status
  const level = status !== undefined && status >= 500 ? 'error' : 'info'
  if (exchange.detail !== undefined) {
    context.log[level]({ request_id: exchange.id, detail: exchange.detail }, 'detail')
  }
  context.lines[level](
    {
      request_id: exchange.id,
      method: exchange.method,
      url: redactUrl(exchange.arrival.url),
      route: exchange.route,
      status,
      error: exchange.failure,
      ms: Math.round((context.clock.elapsedMs() - exchange.startedMs) * 100) / 100,
      address: exchange.address,
      principal_kind: caller?.kind,
      principal_id: caller?.subject,
      customer: caller?.customer,
      mode: caller?.mode,
      key_id: caller?.keyId,
      client_id: caller?.clientId,
      session_id: caller?.sessionId,
      version: exchange.version,
    },
    answer ? 'request' : 'request aborted',
  )
}
