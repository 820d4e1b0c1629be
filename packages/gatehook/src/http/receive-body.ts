/** Receives a body: checks its media type (415), bounds its size (413), parses its JSON. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Failure } from '../kernel/failure.ts'
import type { Call, Operation } from './call.ts'
import {
  acceptedTypes,
  findBodyTypeProblem,
  isJsonType,
  unsupportedMediaType,
} from './content-negotiation.ts'
import { parseJsonBody } from './json-body.ts'

interface BodyLimits {
  readonly bodyBytes: number
  /** Up to this size, a body larger than `bodyBytes` is read and discarded. */
  readonly discardBytes: number
}

/** The part of an exchange (`exchange.ts`) that this file uses. */
interface ReceivingCall extends Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly context: { readonly limits: BodyLimits; readonly vendor: RegExp }
  /** Set if the connection ends after the response. */
  closing: boolean
}

/** The rejection of a request whose connection ended: no response is sent. */
export const ABORTED = Symbol('aborted')

/** Sets `bytes` and `body`. Returns undefined if there is no body to wait for. */
export function receiveBody(
  exchange: ReceivingCall,
  operation: Operation,
): Promise<void> | undefined {
  const length = declaredLength(exchange)
  if (length === 0) return acceptBody(exchange, operation, exchange.bytes)
  const { headers, context } = exchange
  const type = headers['content-type']
  const types = acceptedTypes(operation, exchange.method)
  const why = findBodyTypeProblem(type, headers['content-encoding'], types, context.vendor)
  // A chunked body without a type may be empty, and then needs none.
  if (why !== undefined && (length !== undefined || type !== undefined)) {
    throw unsupportedMediaType(why, types)
  }
  return collect(exchange, length, context.limits).then((bytes) => {
    if (why !== undefined && bytes.length > 0) throw unsupportedMediaType(why, types)
    acceptBody(exchange, operation, bytes)
  })
}

function acceptBody(exchange: ReceivingCall, operation: Operation, bytes: Uint8Array): undefined {
  exchange.bytes = bytes
  if (bytes.length > 0) {
    if (isJsonType(exchange.headers['content-type'] ?? '')) exchange.body = parseJsonBody(bytes)
  } else if (operation.body === 'required') {
    throw new Failure('invalid_json', 'The body is empty. A JSON body is required.')
  }
}

/**
 * Returns the bytes announced by Content-Length; undefined for a chunked body; 0 without a body.
 */
function declaredLength({ headers }: ReceivingCall): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined
  return Number(headers['content-length'] ?? 0)
}

function tooLarge(limits: BodyLimits): Failure {
  return new Failure('payload_too_large', `The body is larger than ${limits.bodyBytes} bytes.`)
}

/**
 * Reads a body. One that is too large is read up to `discardBytes`: closing a socket with unread
 * bytes resets it, and the caller would see the reset instead of the 413.
 */
function collect(
  exchange: ReceivingCall,
  length: number | undefined,
  limits: BodyLimits,
): Promise<Uint8Array> {
  const { request, response } = exchange
  const expectsContinue = request.headers.expect !== undefined
  if (length !== undefined && length > limits.bodyBytes) {
    if (expectsContinue || length > limits.discardBytes) {
      exchange.closing = true
      throw tooLarge(limits)
    }
  } else if (expectsContinue) {
    response.writeContinue()
  }
  return readChunks(exchange, request, limits)
}

function readChunks(
  exchange: ReceivingCall,
  request: IncomingMessage,
  limits: BodyLimits,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= limits.bodyBytes) {
        chunks.push(chunk)
      } else if (size > limits.discardBytes) {
        exchange.closing = true
        request.pause()
        reject(tooLarge(limits))
      } else {
        chunks.length = 0
      }
    })
    request.on('end', () => {
      if (size > limits.bodyBytes) reject(tooLarge(limits))
      else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size))
    })
    const abort = () => reject(ABORTED)
    request.on('error', abort)
    request.on('close', abort)
  })
}
