/**
 * Receives a body: checks its media type (415), bounds its bytes and values (413), parses its JSON.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Holding } from '../../kernel/budget.ts'
import type { TakeOwnerTurn } from '../../kernel/caller-group.ts'
import { Failure } from '../../kernel/failure.ts'
import type { TakeAddressTurn } from './address-turns.ts'
import type { Call, Operation } from './call.ts'
import {
  acceptedTypes,
  findBodyTypeProblem,
  isJsonType,
  unsupportedMediaType,
} from './content-negotiation.ts'
import { LARGE_BYTES } from './egress.ts'
import { type Ingress, tooManyBodies } from './ingress.ts'
import { type JsonSize, measureJson, parseJsonBody, tooManyValues } from './json-body.ts'
import { MediaBody } from './media-body.ts'
import { ownerOf } from './owner.ts'
import { smallChunksOf } from './small-chunks.ts'

interface BodyLimits {
  readonly bodyBytes: number
  /** Values of a JSON body, parameters of a form. */
  readonly bodyValues: number
  /** Up to this size, a body larger than `bodyBytes` is read and discarded. */
  readonly discardBytes: number
}

/** The part of an exchange (`exchange.ts`) that this file uses. */
interface ReceivingCall extends Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly context: {
    readonly limits: BodyLimits
    readonly vendor: RegExp
    readonly ingress: Ingress
    readonly largeIngress: Ingress
    readonly parseTurns: TakeOwnerTurn
    readonly takeTurn: TakeAddressTurn
  }
  /** Set if the connection ends after the response. */
  closing: boolean
  bodyHold: Holding | undefined
}

/** The rejection of a request whose connection ended: no response is sent. */
export const ABORTED = Symbol('aborted')

/** Sets `bytes` and `body`. Returns undefined if there is no body to wait for. */
export function receiveBody(
  exchange: ReceivingCall,
  operation: Operation,
): Promise<void> | undefined {
  const length = declaredLength(exchange)
  const limits = limitsFor(exchange, operation)
  const acceptEmpty = () => acceptBody(exchange, operation, limits, { bytes: NO_BYTES }, NO_SIZE)
  if (length === 0 && !operation.readsBytes) return acceptEmpty()
  const { headers, context } = exchange
  const type = headers['content-type']
  const types = acceptedTypes(operation, exchange.method)
  const why = findBodyTypeProblem(type, headers['content-encoding'], types, context.vendor)
  // A chunked body without a type may be empty, and then needs none as JSON.
  if (why !== undefined && (length !== undefined || type !== undefined || operation.readsBytes)) {
    throw unsupportedMediaType(why, types, exchange)
  }
  // Node emits no `end` for a request that has neither length nor coding (RFC 9112 §6.3).
  if (length === 0) return acceptEmpty()
  return collect(exchange, length, limits).then((received) => {
    const { length: bytes } = received.bytes
    if (why !== undefined && bytes > 0) throw unsupportedMediaType(why, types, exchange)
    const measure = () => measureBody(exchange, operation, limits, received.bytes)
    const size = bytes < LARGE_BYTES ? measure() : undefined
    if (size && !isCostly(size)) return acceptBody(exchange, operation, limits, received, size)
    return context.parseTurns(ownerOf(exchange), async () => {
      if (exchange.response.destroyed) throw ABORTED
      acceptBody(exchange, operation, limits, received, size ?? measure())
    })
  })
}

/**
 * Whether the parse of a small body takes more than about a millisecond. Such a body, and one of
 * `LARGE_BYTES`, takes the turn of its caller: the largest takes 5 ms.
 */
const isCostly = ({ values, names }: JsonSize): boolean => values + 10 * names > 10_000

const NO_SIZE: JsonSize = { values: 0, names: 0 }

/** Measures a body before it is parsed. Throws 413 for one with too many values. */
function measureBody(
  exchange: ReceivingCall,
  { readsBytes }: Operation,
  { bodyValues }: BodyLimits,
  bytes: Uint8Array,
): JsonSize {
  if (readsBytes || bytes.length === 0) return NO_SIZE
  if (isJsonType(exchange.headers['content-type'] ?? '')) return measureJson(bytes, bodyValues)
  const values = countParameters(bytes, bodyValues)
  if (values > bodyValues) throw tooManyValues(bodyValues)
  return { values, names: 0 }
}

/**
 * The largest body of an endpoint that authenticates by its body, such as a sign-in: hundreds of
 * these wait for a password hash at a time, and their senders are unauthenticated.
 */
const PROOF_BYTES = 131_072
export const PROOF_VALUES = 1_000

/** The memory of a parsed value, beside its text. */
const VALUE_BYTES = 64
/** The memory of a large JSON body, or of a proof, beside its bytes: the decoded texts. */
const PARSED_FACTOR = 2

interface ReceivedBody {
  readonly bytes: Uint8Array
  /** Missing for a small body, which does not count. */
  readonly hold?: Holding | undefined
}

function limitsFor(
  { kind, context }: ReceivingCall,
  { authenticated, maxBodyBytes }: Operation,
): BodyLimits {
  const { limits } = context
  if (maxBodyBytes !== undefined) {
    const discardBytes = limits.discardBytes + maxBodyBytes
    return { ...limits, bodyBytes: maxBodyBytes, discardBytes }
  }
  if (kind === 'api' || authenticated !== false) return limits
  return {
    ...limits,
    bodyBytes: Math.min(limits.bodyBytes, PROOF_BYTES),
    bodyValues: Math.min(limits.bodyValues, PROOF_VALUES),
  }
}

function acceptBody(
  exchange: ReceivingCall,
  operation: Operation,
  { bodyBytes }: BodyLimits,
  { bytes, hold }: ReceivedBody,
  size: JsonSize,
): undefined {
  exchange.bytes = bytes
  if (operation.readsBytes) {
    exchange.body = new MediaBody(exchange.headers['content-type'] ?? '', bytes)
  } else if (bytes.length > 0) {
    const isJson = isJsonType(exchange.headers['content-type'] ?? '')
    const { limits } = exchange.context
    const isLarge = isJson && bytes.length > limits.bodyBytes
    const isProof = bodyBytes < limits.bodyBytes
    const parsedBytes = isLarge || isProof ? PARSED_FACTOR * bytes.length : 0
    if (hold?.grow(size.values * VALUE_BYTES + parsedBytes)) throw tooManyBodies()
    if (isJson) exchange.body = parseJsonBody(bytes, { size })
  } else if (operation.body === 'required') {
    throw new Failure('invalid_json', 'The body is empty. A JSON body is required.')
  }
}

const AMPERSAND = 38

/** Counts the parameters of a form; above `max`, a number larger than it. */
function countParameters(bytes: Uint8Array, max: number): number {
  let count = 1
  for (let i = bytes.indexOf(AMPERSAND); i >= 0 && count <= max; count++) {
    i = bytes.indexOf(AMPERSAND, i + 1)
  }
  return count
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
): Promise<ReceivedBody> {
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
  return readChunks(exchange, length, limits)
}

/**
 * The chunks of a body: each one costs a turn through Node's parser. A body of 1 MiB has 16 in the
 * usual size of 64 KiB, and 4,096 in chunks of 256 bytes.
 */
const MAX_CHUNKS = 16_384

function readChunks(
  exchange: ReceivingCall,
  length: number | undefined,
  limits: BodyLimits,
): Promise<ReceivedBody> {
  const { request, context } = exchange
  return new Promise((resolve, reject) => {
    // One buffer that doubles: chunks of a byte each would take a hundred times their size.
    let buffer: Buffer = NO_BYTES
    let size = 0
    let count = 0
    let isRefused = false
    let isWhole = false
    let hold: Holding | undefined
    const fits = (bytes: number): boolean => {
      const expected = length ?? limits.bodyBytes
      const isLarge = expected > context.limits.bodyBytes
      const ingress = isLarge ? context.largeIngress : context.ingress
      hold ??= ingress.hold(ownerOf(exchange), cut, expected)
      return hold.grow(bytes) === undefined
    }
    const drop = () => {
      buffer = NO_BYTES
      hold?.release()
    }
    const refuse = (failure: Failure) => {
      isRefused = true
      exchange.closing = true
      request.pause()
      drop()
      reject(failure)
    }
    const cut = () => refuse(tooManyBodies())
    const append = (chunk: Buffer) => {
      const neededBytes = size + chunk.length
      if (neededBytes > buffer.length) {
        const doubledBytes = Math.max(neededBytes, 2 * buffer.length)
        const capacity = Math.min(doubledBytes, length ?? limits.bodyBytes, limits.bodyBytes)
        if (!fits(capacity - buffer.length)) return cut()
        const grown = Buffer.allocUnsafe(capacity)
        buffer.copy(grown, 0, 0, size)
        buffer = grown
      }
      chunk.copy(buffer, size)
    }
    request.on('data', (chunk: Buffer) => {
      if (isRefused) return
      const newSize = size + chunk.length
      if (newSize > limits.discardBytes) return refuse(tooLarge(limits))
      const small = smallChunksOf(request)
      if (small?.isRefused) return refuse(tooManyAtOnce())
      if (Math.max(++count, small?.count ?? 0) > MAX_CHUNKS) return refuse(tooManyChunks())
      if (newSize > limits.bodyBytes) drop()
      else if (chunk.length === length) {
        if (length > UNCOUNTED_BYTES && !fits(length)) return cut()
        buffer = chunk
      } else append(chunk)
      size = newSize
    })
    const accept = () => {
      if (exchange.response.destroyed) {
        drop()
        return reject(ABORTED)
      }
      if (size > limits.bodyBytes) return reject(tooLarge(limits))
      hold?.keep()
      exchange.bodyHold = hold
      resolve({ bytes: buffer.subarray(0, size), hold })
    }
    request.on('end', () => {
      isWhole = true
      // The turn of the head may have ended: thousands of bodies can become whole at once.
      context.takeTurn(() => exchange.address, accept)
    })
    // Node closes a request that has arrived, too: then its answer releases the bytes.
    const abort = () => {
      if (isWhole) return
      drop()
      reject(ABORTED)
    }
    request.on('error', abort)
    request.on('close', abort)
    if (request.destroyed) abort() // the client left during a head step
  })
}

const NO_BYTES = Buffer.alloc(0)

/** Bodies up to this size in one chunk, the most, do not count. */
const UNCOUNTED_BYTES = 4_096

const tooManyAtOnce = () =>
  new Failure('overloaded', 'Too many small chunks of bodies arrive at once. Send larger ones.')
const tooManyChunks = () =>
  new Failure('payload_too_large', `The body has more than ${MAX_CHUNKS} chunks. Send larger ones.`)
