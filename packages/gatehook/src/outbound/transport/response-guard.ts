/**
 * Filters the bytes between a receiver's socket and undici's parser. It bounds the size of each
 * response, including bytes that no other limit counts (chunk extensions), and it skips `100
 * Continue`. A client must accept that unrequested (RFC 9110 §15.2); undici ends the connection.
 */
import type { Socket } from 'node:net'
import { CODE, createCodedError } from './socket-error.ts'

export interface ResponseGuard {
  /** Call it when a request is written: later bytes belong to its response. */
  begin(): void
  /** Whether any byte of the response has arrived. */
  readonly hasBegun: boolean
}

export interface ResponseGuardLimits {
  readonly responseBytes: number
  /** The head of an interim response. */
  readonly headerBytes: number
  /** Interim responses before the final one. */
  readonly interimResponses: number
}

const CONTINUE = 'HTTP/1.1 100'
/** The position of the status: usually its first digit decides. */
const STATUS_AT = CONTINUE.indexOf('100')
const DIGIT_1 = '1'.charCodeAt(0)
const END_OF_HEAD = '\r\n\r\n'
const NO_BYTES = Buffer.alloc(0)

/** Returns whether `bytes` may be the beginning of a `100 Continue`. */
function isContinue(bytes: Buffer): boolean {
  if (bytes.length > STATUS_AT && bytes[STATUS_AT] !== DIGIT_1) return false
  const length = Math.min(bytes.length, CONTINUE.length)
  return CONTINUE.startsWith(bytes.toString('latin1', 0, length))
}

/** Replaces `socket.read`, from which undici's parser takes its bytes. */
export function guardResponses(socket: Socket, limits: ResponseGuardLimits): ResponseGuard {
  const read = socket.read.bind(socket)
  /** The beginning of a response that may be a `100 Continue`. */
  let pending: Buffer = NO_BYTES
  let isAtHead = false
  let bytes = 0
  let interim = 0

  /** Removes leading `100 Continue` responses; returns no bytes while more must arrive. */
  const skipContinues = (text: Buffer): Buffer => {
    let rest = text
    while (rest.length > 0 && isContinue(rest) && interim < limits.interimResponses) {
      const end = rest.length < CONTINUE.length ? -1 : rest.indexOf(END_OF_HEAD)
      if (end < 0) {
        if (rest.length > limits.headerBytes) socket.destroy(createCodedError(CODE.tooLong))
        pending = rest
        return NO_BYTES
      }
      rest = rest.subarray(end + END_OF_HEAD.length)
      pending = NO_BYTES
      interim++
    }
    return rest
  }

  /** Returns the bytes of a chunk for the parser. */
  const filter = (chunk: Buffer): Buffer => {
    bytes += chunk.length
    if (bytes > limits.responseBytes) {
      socket.destroy(createCodedError(CODE.tooLong))
      return NO_BYTES
    }
    if (!isAtHead) return chunk
    const rest = skipContinues(pending.length === 0 ? chunk : Buffer.concat([pending, chunk]))
    if (rest.length === 0) return NO_BYTES
    pending = NO_BYTES
    isAtHead = false
    return rest
  }

  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk: Buffer | null = read(size)
      if (chunk === null) return null
      const rest = filter(chunk)
      if (rest.length > 0) return rest
    }
  }
  return {
    begin() {
      pending = NO_BYTES
      isAtHead = true
      bytes = 0
      interim = 0
    },
    get hasBegun() {
      return bytes > 0
    },
  }
}
