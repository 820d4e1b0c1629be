/**
 * Responds to requests that Node's parser rejects: writes the error envelope to the socket and
 * closes the connection.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import type { Random } from '../../kernel/random.ts'
import type { TakeAddressTurn } from './address-turns.ts'
import { JSON_TYPE } from './content-negotiation.ts'
import { formatProblem } from './problem.ts'
import type { Refusals } from './refusals.ts'
import { requestIdOf } from './request-head.ts'
import { commonHeaders } from './response-steps.ts'

interface ParserError extends Error {
  readonly code?: string
  /** The bytes that the parser rejected. */
  readonly rawPacket?: Buffer
  readonly bytesParsed?: number
}

const { STATUS_CODES } = process.getBuiltinModule('node:http') // see `server.ts`

const LINGER_MS = 1000
const NEWLINE = 10

function failureOf(error: ParserError, urlBytes: number): Failure {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return requestLineBytes(error.rawPacket) > urlBytes
        ? new Failure('uri_too_long')
        : new Failure('headers_too_large')
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new Failure('payload_too_large')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Failure('request_timeout')
    case 'CONNECT':
      return new Failure('invalid_request', 'CONNECT is not supported: this server is not a proxy.')
    default:
      return new Failure('invalid_request', malformedMessage(error))
  }
}

const FIELD_LINE = /^([\w!#$%&'*+.^`|~-]{1,100}):/

const URL_FAULT =
  'The URL contains a control character or one that is not ASCII: write it as `%` and two digits.'

/** Names the URL, or the header in whose line, or behind whose line, the parser stopped. */
function malformedMessage({ code = '', rawPacket, bytesParsed = 0 }: ParserError): string {
  if (code === 'HPE_INVALID_URL') return URL_FAULT
  const isHeader = /^HPE_(INVALID_HEADER_TOKEN|CR_EXPECTED|LF_EXPECTED)$/.test(code)
  const lines = isHeader ? (rawPacket?.toString('latin1', 0, bytesParsed).split('\n') ?? []) : []
  const names = lines.slice(1).flatMap((line) => FIELD_LINE.exec(line)?.[1] ?? [])
  const name = names.at(-1)
  return name === undefined
    ? 'The HTTP request is malformed.'
    : `The header ${name} contains a line break or another control character.`
}

/** Returns the length of the request line if the bytes begin with one, otherwise 0. */
function requestLineBytes(packet: Buffer | undefined): number {
  if (!packet || !/^[A-Z-]{3,20} /.test(packet.toString('latin1', 0, 21))) return 0
  const end = packet.indexOf(NEWLINE)
  return end < 0 ? packet.length : end
}

export interface ParserErrorOptions {
  readonly log: Log
  readonly random: Random
  /** Returns epoch milliseconds. */
  readonly now: () => number
  readonly urlBytes: number
  readonly refusals: Refusals
  readonly takeTurn: TakeAddressTurn
  /** `Strict-Transport-Security` over TLS. */
  readonly strictTransport: string
  readonly documentation: (() => string) | undefined
  /** Returns the response to the latest request of a connection, finished or not. */
  readonly latestResponse: (socket: Socket) => ServerResponse | undefined
}

const isOpen = (response: ServerResponse) => !response.writableFinished && !response.destroyed

/** Returns the listener for `clientError`. */
export function createParserErrorListener(options: ParserErrorOptions) {
  return (error: ParserError, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const response = options.latestResponse(socket)
    const open = response && isOpen(response)
    if (response?.writableEnded && !response.req.complete) {
      closeGracefully(socket) // the request has its response, and a second one would be misread
    } else if (open && response.req.complete) {
      // The response to the previous request is sent first.
      response.once('close', () => refuse(error, socket, options))
    } else if (open && response.headersSent) {
      // A queued response is sent within this turn; a stream is cut.
      setImmediate(() => (response.writableEnded ? closeGracefully(socket) : socket.destroy()))
    } else {
      refuse(error, socket, options)
    }
  }
}

/** Returns the listener for `connect`, which rejects tunnels with an error response. */
export const createConnectListener =
  (options: ParserErrorOptions) =>
  (_request: unknown, stream: Duplex): void => {
    stream.on('error', () => stream.destroy())
    const socket = stream as Socket
    const error: ParserError = Object.assign(new Error('CONNECT'), { code: 'CONNECT' })
    const response = options.latestResponse(socket)
    // Responses keep the order of their requests.
    if (response && isOpen(response)) {
      response.once('close', () => refuse(error, socket, options))
      socket.resume().once('end', () => socket.destroy()) // detects the end of the connection
    } else {
      refuse(error, socket, options)
    }
  }

/** Sends the rejection in its turn, after the delay of rejections that are many. */
function refuse(error: ParserError, socket: Socket, options: ParserErrorOptions): void {
  const failure = failureOf(error, options.urlBytes)
  const address = socket.remoteAddress ?? ''
  const delayMs = options.refusals.delayMs({ principal: undefined, address }, failure.status)
  const send = () =>
    options.takeTurn(
      () => address,
      () => sendRefusal(error, failure, socket, options),
    )
  socket.pause()
  if (delayMs <= 0) return void send()
  const timer = setTimeout(send, delayMs)
  socket.once('close', () => clearTimeout(timer))
}

function sendRefusal(
  error: ParserError,
  failure: Failure,
  socket: Socket,
  options: ParserErrorOptions,
): void {
  if (!socket.writable) return
  const id = requestIdOf(undefined, options.random, options.now())
  const { status, json = '' } = formatProblem(failure, {
    requestId: id,
    accept: undefined,
    documentation: options.documentation?.(),
  })
  const isEncrypted = 'encrypted' in socket && socket.encrypted === true
  const headers = {
    ...commonHeaders(id),
    ...(isEncrypted && { 'strict-transport-security': options.strictTransport }),
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(json),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${json}`)
  closeGracefully(socket)
  options.log.info(
    { request_id: id, status, address: socket.remoteAddress, reason: error.code },
    'request refused',
  )
}

/** Discards further input for a second: a reset would discard the response. */
function closeGracefully(socket: Socket): void {
  if (!socket.writableEnded) socket.end()
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
}
