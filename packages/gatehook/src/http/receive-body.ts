/**
 * The body comes in: media type first (415), then at most so many bytes (413), then strict JSON.
 * Reads the socket; what the bytes mean is `body.ts`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Failure } from '../kernel/failure.ts'
import { parseBody } from './body.ts'
import type { Call, Operation } from './call.ts'
import { isJson, readTypes, unreadable, unsupported } from './media.ts'

interface Limits {
  readonly bodyBytes: number
  /** A body larger than `bodyBytes` is read and thrown away up to here. */
  readonly discardBytes: number
}

/** What is needed here of an exchange (`exchange.ts`). */
interface Receiving extends Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly context: { readonly limits: Limits; readonly vendor: RegExp }
  /** Set where the connection ends with the answer. */
  closing: boolean
}

/** Rejected with when the caller went away in the middle: there is nobody to answer. */
export const ABORTED = Symbol('aborted')

/** Fills `bytes` and `body`; undefined when there is nothing to wait for. */
export function receiveBody(exchange: Receiving, operation: Operation): Promise<void> | undefined {
  const length = declaredLength(exchange)
  if (length === 0) return arrived(exchange, operation, exchange.bytes)
  const { headers, context } = exchange
  const type = headers['content-type']
  const types = readTypes(operation, exchange.method)
  const why = unreadable(type, headers['content-encoding'], types, context.vendor)
  // A chunked body without a type may turn out to be empty: then nothing is wrong with it.
  if (why !== undefined && (length !== undefined || type !== undefined)) {
    throw unsupported(why, types)
  }
  return collect(exchange, length, context.limits).then((bytes) => {
    if (why !== undefined && bytes.length > 0) throw unsupported(why, types)
    arrived(exchange, operation, bytes)
  })
}

function arrived(exchange: Receiving, operation: Operation, bytes: Uint8Array): undefined {
  exchange.bytes = bytes
  if (bytes.length > 0) {
    if (isJson(exchange.headers['content-type'] ?? '')) exchange.body = parseBody(bytes)
  } else if (operation.body === 'required') {
    throw new Failure('invalid_json', 'The body is empty. A JSON body is required.')
  }
}

/** Bytes announced by Content-Length; undefined for a chunked body; 0 where there is none. */
function declaredLength({ headers }: Receiving): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined
  return Number(headers['content-length'] ?? 0)
}

function tooLarge(limits: Limits): Failure {
  return new Failure('payload_too_large', `The body is larger than ${limits.bodyBytes} bytes.`)
}

/**
 * A body too large is read to its end, within reason, and thrown away: closing a socket with unread
 * bytes resets it, and the caller would see the reset instead of the 413.
 */
function collect(
  exchange: Receiving,
  length: number | undefined,
  limits: Limits,
): Promise<Uint8Array> {
  const { request, response } = exchange
  const expecting = request.headers.expect !== undefined
  if (length !== undefined && length > limits.bodyBytes) {
    if (expecting || length > limits.discardBytes) {
      exchange.closing = true
      throw tooLarge(limits)
    }
  } else if (expecting) {
    response.writeContinue()
  }
  return gather(exchange, request, limits)
}

function gather(
  exchange: Receiving,
  request: IncomingMessage,
  limits: Limits,
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
    const gone = () => reject(ABORTED)
    request.on('error', gone)
    request.on('close', gone)
  })
}
