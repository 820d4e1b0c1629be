/**
 * Filters the bytes between the socket of another server and undici's parser, which calls back for
 * each header, chunk and trailer: a server could send tens of thousands in a few bytes each. The
 * guard ends such a response before the parser reads more of it. It also skips interim responses
 * (1xx): a client must accept those unrequested (RFC 9110 §15.2), but undici ends the connection at
 * `100 Continue`.
 */
import type { Socket } from 'node:net'
import { HeadLines } from './head-lines.ts'
import { InterimResponses } from './interim-responses.ts'
import { CODE, createCodedError } from './socket-error.ts'

export interface ResponseGuard {
  /**
   * Call it when a request is written: later bytes belong to its response.
   *
   * @param onEnd called when the connection has ended, before undici knows: it throws if the
   * response is paused then
   */
  begin(onEnd?: () => void): void
  /** Call it with the bytes of the body that the parser returns. */
  countBody(bytes: number): void
  /** Whether any byte of the response has arrived. */
  readonly hasBegun: boolean
}

export interface ResponseGuardLimits {
  /** All bytes of a response, including its framing. */
  readonly responseBytes: number
  /**
   * Bytes after the head that are no body: sizes and extensions of chunks, and trailers. A chunk
   * or a trailer has at least four.
   */
  readonly framingBytes: number
  /** Bytes of the body that give back a byte of framing. */
  readonly bodyPerFraming: number
  /** The heads of all interim responses. */
  readonly headerBytes: number
  /** Headers of the final response. */
  readonly headerCount: number
  /** Interim responses before the final one. */
  readonly interimResponses: number
}

/** A read of the socket counts as bytes of framing: it is a turn of the parser. */
const READ_BYTES = 4
/** The parser gets at most this much beyond the framing that is left. */
const SLICE_BYTES = 1_024
/** The most that it gets at once: it copies the rest for each chunk at which a reader pauses. */
const MAX_SLICE_BYTES = 16_384

const NO_BYTES = Buffer.alloc(0)

/** Replaces `socket.read`, from which undici's parser takes its bytes. */
export function guardResponses(socket: Socket, limits: ResponseGuardLimits): ResponseGuard {
  const read = socket.read.bind(socket)
  const unshift = socket.unshift.bind(socket)
  const end = (code: string): Buffer => {
    socket.destroy(createCodedError(code))
    return NO_BYTES
  }

  let interim = new InterimResponses(limits, end)
  /** The lines of the final head; undefined after it. */
  let head: HeadLines | undefined
  let bytes = 0
  let framing = 0
  let notifyEnd: (() => void) | undefined
  socket.prependListener('end', () => notifyEnd?.())

  /** Returns the bytes of a chunk for the parser. */
  const filter = (chunk: Buffer): Buffer => {
    bytes += chunk.length
    framing += READ_BYTES
    if (bytes > limits.responseBytes) return end(CODE.tooLong)
    if (!head) {
      framing += chunk.length
      return chunk
    }
    const rest = head.hasBegun ? chunk : interim.skip(chunk)
    const endAt = head.add(rest)
    if (head.count > limits.headerCount) return end(CODE.tooLong)
    if (endAt !== undefined) {
      head = undefined
      framing += rest.length - endAt
    }
    return rest
  }

  socket.read = (count?: number): Buffer | null => {
    // The stream itself: it fills its buffer, and takes nothing.
    if (count === 0) return read(0)
    for (;;) {
      const left = limits.framingBytes - framing
      if (left < 0) end(CODE.tooLong)
      if (socket.destroyed) return null
      const size = Math.min(left + SLICE_BYTES, MAX_SLICE_BYTES, socket.readableLength)
      const chunk: Buffer | null = read(size > 0 ? size : undefined)
      if (chunk === null) return null
      const rest = filter(chunk)
      if (rest.length > 0) return rest
    }
  }
  /** The parser puts back what it has not read when it pauses. */
  socket.unshift = (chunk: Buffer) => {
    bytes -= chunk.length
    framing -= chunk.length + READ_BYTES
    unshift(chunk)
  }
  return {
    begin(onEnd) {
      notifyEnd = onEnd
      interim = new InterimResponses(limits, end)
      head = new HeadLines()
      bytes = 0
      framing = 0
    },
    countBody(size) {
      framing = Math.max(0, framing - size - size / limits.bodyPerFraming)
    },
    get hasBegun() {
      return bytes > 0
    },
  }
}
