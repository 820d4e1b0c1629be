/**
 * Sends a response: formats failures, merges headers, writes head and body, logs the request
 * (§12.7). With `batched-write.ts`, the only file that writes to Node's response.
 */
import type { ServerResponse } from 'node:http'
import { Failure, thrownError } from '../../kernel/failure.ts'
import { flushResponses, queueResponse, writeStream } from './batched-write.ts'
import type { Answer } from './call.ts'
import { JSON_TYPE } from './content-negotiation.ts'
import { type Hold, LARGE_BYTES, overloadFailure } from './egress.ts'
import type { Exchange } from './exchange.ts'
import { joinVary } from './header.ts'
import { ownerOf } from './owner.ts'
import { formatProblem } from './problem.ts'
import { commonHeaders } from './response-steps.ts'
import { isFollowed } from './tracked-requests.ts'

/**
 * Formats a `Failure`. Any other error is a bug: it is logged, and the response has only the id. So
 * is a `Failure` of own code that no JSON can represent.
 */
export function answerFailure(exchange: Exchange, error: unknown): Answer {
  try {
    return formatFailure(exchange, error)
  } catch (malformed) {
    return formatFailure(exchange, malformed)
  }
}

function formatFailure(exchange: Exchange, error: unknown): Answer {
  const { context, id } = exchange
  let failure: Failure
  if (error instanceof Failure) {
    failure = error
    exchange.detail = error.detail
  } else {
    context.log.error({ err: thrownError(error), request_id: id, route: exchange.route }, 'bug')
    exchange.bug = error
    failure = new Failure('internal_error')
  }
  exchange.failure = failure.code
  exchange.errors = failure.errors ?? []
  exchange.missingScope = failure.scope
  const format = context.errorFormats[exchange.kind] ?? formatProblem
  return format(failure, {
    requestId: id,
    accept: exchange.headers.accept,
    path: exchange.path,
    documentation: context.documentation?.(exchange.version),
    body: exchange.body,
  })
}

/**
 * Sends a response, and logs the request with it; `undefined` if the connection ended, and only the
 * log remains. Every request passes here once, with its final status.
 */
export function respond(exchange: Exchange, answer: Answer | undefined): void {
  const { context, response, principal } = exchange
  if (principal) {
    const { group } = ownerOf(exchange)
    context.egress.share.note(group)
    context.refusals.note(group)
  }
  try {
    const sent = answer && !response.destroyed ? sendOnce(exchange, answer) : undefined
    const ms = Math.round((context.clock.elapsedMs() - exchange.startedMs) * 100) / 100
    context.logExchange(exchange, sent, ms)
    context.observeExchange(exchange, sent, ms)
  } finally {
    exchange.dropBody()
    context.egress.large.end(response)
  }
}

/** Sends the response, or a bare 500 if that is impossible; returns the response that was sent. */
function sendOnce(exchange: Exchange, answer: Answer): Answer {
  try {
    const admitted = admit(exchange, answer)
    send(exchange, admitted)
    return admitted
  } catch (error) {
    // For example, node rejects a header. The retry has no headers from before.
    const bare = answerFailure(exchange, error)
    if (exchange.response.headersSent) exchange.response.destroy()
    else {
      exchange.out = commonHeaders(exchange.id)
      send(exchange, bare)
    }
    return bare
  }
}

/** For the response of a team's route: pages of lists end before. */
const RESPONSE_TOO_LARGE = 'The response would be larger than 8 MiB. Request a smaller part of it.'

/**
 * Counts a large response before it is sent (§11.5). If the caller has too many unread bytes, a
 * read is rejected with 503, also one of a stored response; that of a change is sent in any case.
 */
function admit(exchange: Exchange, answer: Answer): Answer {
  const body = answer.json ?? answer.raw
  const isRead = exchange.method === 'GET' || exchange.isLarge
  if (body === undefined || body.length < LARGE_BYTES || !isRead) return answer
  const { egress } = exchange.context
  const bytes = Buffer.byteLength(body)
  const owner = ownerOf(exchange)
  const reject = (error: Error): Answer => {
    delete exchange.out.etag
    return answerFailure(exchange, error)
  }
  if (bytes > egress.bounds.responseBytes) {
    return reject(new Failure('page_too_large', RESPONSE_TOO_LARGE))
  }
  const { response } = exchange
  const hold = () => egress.hold({ owner, bytes, cut: () => response.destroy() })
  exchange.hold = hold()
  if (!exchange.hold) {
    flushResponses()
    exchange.hold = hold()
    if (!exchange.hold) return reject(overloadFailure())
  }
  response.once('close', exchange.hold.release)
  return answer
}

function send(exchange: Exchange, answer: Answer): void {
  const { response, method } = exchange
  const { status } = answer
  const body = answer.json ?? answer.raw
  const headers: Record<string, string | number | string[]> = exchange.out
  if (answer.headers) mergeHeaders(headers, answer.headers)
  // A connection that pipelines beyond its limit ends.
  if (status === 429 && isFollowed(exchange.request)) exchange.closing = true
  if (exchange.closing || exchange.context.isLeaving) headers.connection = 'close'
  if (answer.cookies) headers['set-cookie'] = [...answer.cookies]
  if (answer.stream) {
    sendStream(exchange, headers, answer)
    return
  }
  let length = 0
  if (status !== 204 && status !== 304) {
    if (answer.json !== undefined) headers['content-type'] ??= JSON_TYPE
    if (body !== undefined) length = Buffer.byteLength(body)
    headers['content-length'] = length
  }
  response.writeHead(status, headers)
  queueResponse({
    response,
    body: length === 0 || method === 'HEAD' ? undefined : body,
    length,
    egress: exchange.context.egress,
    call: exchange,
    hold: exchange.hold,
  })
}

/** Sends a stream; its request is logged when it begins. */
function sendStream(
  exchange: Exchange,
  headers: Record<string, string | number | string[]>,
  { status, stream, longestMs }: Answer,
): void {
  const { response, method, context } = exchange
  response.writeHead(status, headers)
  if (method === 'HEAD') return void response.end()
  response.flushHeaders()
  const closing = new AbortController()
  const { signal } = context.drain
  const close = () => closing.abort()
  signal.addEventListener('abort', close)
  const endWatch = context.authority.watch(exchange.authorized, { longestMs, end: close })
  response.on('finish', endWatch)
  let hold: Hold | undefined
  const release = () => {
    hold?.release()
    hold = undefined
  }
  response.on('drain', release)
  response.on('close', () => {
    signal.removeEventListener('abort', close)
    endWatch()
    close()
    release()
  })
  const owner = ownerOf(exchange)
  const cut = () => void response.destroy()
  const writing = stream!({
    write(text) {
      if (closing.signal.aborted) return false
      const isFree = writeStream(response, text, () => hold?.progress())
      if (isFree || hold) return isFree
      hold = context.egress.hold({ owner, bytes: response.writableLength, cut })
      if (!hold) cut()
      return false
    },
    drained: () => awaitDrain(response, closing.signal),
    end: () => void response.end(),
    cut,
    closed: closing.signal,
  })
  writing?.catch((error: unknown) => {
    context.log.error(
      { err: thrownError(error), request_id: exchange.id, route: exchange.route },
      'bug',
    )
    response.destroy()
  })
}

/** Resolves when the socket has taken all written bytes, or the connection has ended. */
const awaitDrain = (response: ServerResponse, closed: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (closed.aborted) return resolve()
    // The reader of a response without a socket takes a turn of the event loop.
    if (!response.writableNeedDrain) return void setImmediate(resolve)
    const done = () => {
      response.off('drain', done)
      closed.removeEventListener('abort', done)
      resolve()
    }
    response.on('drain', done)
    closed.addEventListener('abort', done)
  })

/** Adds headers under lower-case names. `Link` and `Vary` are joined; others replace. */
function mergeHeaders(
  target: Record<string, string | number | string[]>,
  headers: Record<string, string>,
): void {
  for (const sentName in headers) {
    const name = sentName.toLowerCase()
    const value = headers[sentName]!
    const current = target[name]
    if (name === 'vary') target[name] = joinVary(current as string | undefined, value)
    else target[name] = name === 'link' && current !== undefined ? `${current}, ${value}` : value
  }
}
