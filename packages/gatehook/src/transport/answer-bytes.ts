/**
 * What stands between a receiver's socket and the parser of answers: counts the bytes of each
 * answer and ends it where they are too many, whatever they are (chunk extensions stand in no
 * header and no body), and passes over `100 Continue`. RFC 9110 §15.2 asks every client to do that,
 * expected or not; undici ends the connection there.
 */
import type { Socket } from 'node:net'
import { CODE, coded } from './socket-error.ts'

export interface AnswerBytes {
  /** A request is written: what comes from now on is its answer. */
  begin(): void
  /** Whether any byte of the answer was there. */
  readonly begun: boolean
}

export interface AnswerLimits {
  /** All bytes of one answer. */
  readonly answerBytes: number
  /** Of the head of an interim answer. */
  readonly headerBytes: number
  /** Interim answers before the real one. */
  readonly interimAnswers: number
}

const CONTINUE = 'HTTP/1.1 100'
/** Where the status stands in it: mostly that tells. */
const STATUS_AT = CONTINUE.indexOf('100')
const ONE = '1'.charCodeAt(0)
const END_OF_HEAD = '\r\n\r\n'
const NOTHING = Buffer.alloc(0)

/** Whether these are the first bytes of a `100 Continue`, as far as they go. */
function isContinue(bytes: Buffer): boolean {
  if (bytes.length > STATUS_AT && bytes[STATUS_AT] !== ONE) return false
  const length = Math.min(bytes.length, CONTINUE.length)
  return CONTINUE.startsWith(bytes.toString('latin1', 0, length))
}

/** Takes the place of `socket.read`, by which the parser gets its bytes. */
export function guardAnswers(socket: Socket, limits: AnswerLimits): AnswerBytes {
  const read = socket.read.bind(socket)
  /** The beginning of an answer, held back as long as it may be a 100. */
  let held: Buffer = NOTHING
  let [atHead, bytes, interim] = [false, 0, 0]

  /** What is left when 100s are taken away from the front; empty: wait for more. */
  const beyondContinues = (text: Buffer): Buffer => {
    let rest = text
    while (rest.length > 0 && isContinue(rest) && interim < limits.interimAnswers) {
      const end = rest.length < CONTINUE.length ? -1 : rest.indexOf(END_OF_HEAD)
      if (end < 0) {
        if (rest.length > limits.headerBytes) socket.destroy(coded(CODE.tooLong))
        held = rest
        return NOTHING
      }
      rest = rest.subarray(end + END_OF_HEAD.length)
      held = NOTHING
      interim++
    }
    return rest
  }

  /** What the parser gets of a chunk. */
  const passed = (chunk: Buffer): Buffer => {
    bytes += chunk.length
    if (bytes > limits.answerBytes) {
      socket.destroy(coded(CODE.tooLong))
      return NOTHING
    }
    if (!atHead) return chunk
    const rest = beyondContinues(held.length === 0 ? chunk : Buffer.concat([held, chunk]))
    if (rest.length === 0) return NOTHING
    held = NOTHING
    atHead = false
    return rest
  }

  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk: Buffer | null = read(size)
      if (chunk === null) return null
      const rest = passed(chunk)
      if (rest.length > 0) return rest
    }
  }
  return {
    begin() {
      held = NOTHING
      atHead = true
      bytes = 0
      interim = 0
    },
    get begun() {
      return bytes > 0
    },
  }
}
