/**
 * What node's parser refuses before there is a request: answered on the bare socket, in our
 * envelope, correctly framed, and then the connection ends.
 */
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Failure } from '../kernel/failure.ts'
import type { Log } from '../kernel/log.ts'
import type { Random } from '../kernel/random.ts'
import { requestId } from './arrival.ts'
import { problem } from './problem.ts'
import { NO_SNIFF, NOTHING_LOADED, STRICT_TRANSPORT } from './protection.ts'

export interface ParserError extends Error {
  readonly code?: string
  /** The bytes the parser stumbled over. */
  readonly rawPacket?: Buffer
}

const LINGER_MS = 1000
const NEWLINE = 10

/** Which failure a parser error is. Pure. */
function failureOf(error: ParserError, urlBytes: number): Failure {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return lineBytes(error.rawPacket) > urlBytes
        ? new Failure('uri_too_long')
        : new Failure('headers_too_large')
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new Failure('payload_too_large')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Failure('request_timeout')
    case 'CONNECT':
      return new Failure('invalid_request', 'This is no proxy: CONNECT is not served.')
    default:
      return new Failure('invalid_request', 'This is not a well-formed HTTP request.')
  }
}

/** Length of the request line, when these bytes begin with one. */
function lineBytes(packet: Buffer | undefined): number {
  if (!packet || !/^[A-Z-]{3,20} /.test(packet.toString('latin1', 0, 21))) return 0
  const end = packet.indexOf(NEWLINE)
  return end < 0 ? packet.length : end
}

export interface ParserErrorOptions {
  readonly log: Log
  readonly random: Random
  readonly urlBytes: number
  readonly documentation: string | undefined
  /** The response to the latest request of a connection, whether or not it is finished. */
  readonly latest: (socket: Socket) => ServerResponse | undefined
}

const isOpen = (response: ServerResponse) => !response.writableFinished && !response.destroyed

/** The listener for `clientError`. */
export function answerParserErrors(options: ParserErrorOptions) {
  return (error: ParserError, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const response = options.latest(socket)
    const open = response && isOpen(response)
    if (response?.writableEnded && !response.req.complete) {
      close(socket) // of a request that has its answer: a second would pass for the next one's
    } else if (open && response.req.complete) {
      // The garbage follows a request that is still being answered; that answer goes first.
      response.once('close', () => refuse(error, socket, options))
    } else if (open && response.headersSent) {
      // An answer about to depart does so within this turn; what streams is cut.
      setImmediate(() => (response.writableEnded ? close(socket) : socket.destroy()))
    } else {
      refuse(error, socket, options)
    }
  }
}

/** The listener for `connect`: no tunnels; a connection closed in silence would say nothing. */
export const refuseTunnels =
  (options: ParserErrorOptions) =>
  (_request: unknown, stream: Duplex): void => {
    stream.on('error', () => stream.destroy())
    const socket = stream as Socket
    const error: ParserError = Object.assign(new Error('CONNECT'), { code: 'CONNECT' })
    const response = options.latest(socket)
    // Requests before it are answered before it: else theirs would be this answer.
    if (response && isOpen(response)) {
      response.once('close', () => refuse(error, socket, options))
      socket.resume().once('end', () => socket.destroy()) // or nobody sees the caller go
    } else {
      refuse(error, socket, options)
    }
  }

function refuse(error: ParserError, socket: Socket, options: ParserErrorOptions): void {
  if (!socket.writable) return
  const failure = failureOf(error, options.urlBytes)
  const id = requestId(undefined, options.random)
  const { status, json = '' } = problem(failure, {
    requestId: id,
    accept: undefined,
    documentation: options.documentation,
  })
  const strict =
    'encrypted' in socket && socket.encrypted === true
      ? `strict-transport-security: ${STRICT_TRANSPORT}\r\n`
      : ''
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(json)}\r\nx-request-id: ${id}\r\n` +
      `x-content-type-options: ${NO_SNIFF}\r\n` +
      `content-security-policy: ${NOTHING_LOADED}\r\n${strict}` +
      `connection: close\r\n\r\n${json}`,
  )
  close(socket)
  options.log.info(
    { request_id: id, status, address: socket.remoteAddress, reason: error.code },
    'request refused',
  )
}

/** What the caller still sends is swallowed for a moment: a reset would eat the answer. */
function close(socket: Socket): void {
  if (!socket.writableEnded) socket.end()
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
}
