/**
 * The last step of an answer: the answers of one turn of the event loop are written together. A
 * write may have to wake its reader, which costs more than the write itself; while a burst goes
 * out, whoever reads is awake. With 32 connections on loopback that is 25 of 65 µs a request.
 *
 * A large body goes out in parts, so that a caller who reads slowly can be told from one who does
 * not read (§11.5).
 */
import type { ServerResponse } from 'node:http'
import type { Call } from './call.ts'
import { type Egress, type Hold, ownerOf } from './egress.ts'

export interface Departure {
  readonly response: ServerResponse
  /** Undefined: the head alone. */
  readonly body: string | Uint8Array | undefined
  /** Bytes of the body. */
  readonly length: number
  readonly egress: Egress
  /** The bytes count for its caller while they wait. */
  readonly call: Call
  /** Of a large body that is counted already. */
  readonly hold: Hold | undefined
}

/** Bytes handed to the socket at once. */
const PART_BYTES = 65_536

let waiting: Departure[] = []

/** Ends a response whose head is written, at the end of this turn. */
export function depart(departure: Departure): void {
  if (waiting.length === 0) setImmediate(departNow)
  waiting.push(departure)
}

/** Writes what waits for the end of the turn; what sockets take at once is released. */
export function departNow(): void {
  const all = waiting
  waiting = []
  for (const departure of all) end(departure)
}

function end(departure: Departure): void {
  const { response, body, length } = departure
  let { hold } = departure
  try {
    if (body === undefined) response.end()
    else if (hold || length > PART_BYTES) {
      inParts(response, bytesOf(body, length), () => hold?.progress())
    }
    // As many bytes as characters: all ASCII, which is written without being encoded.
    else if (typeof body === 'string' && length === body.length) response.end(body, 'latin1')
    else response.end(body)
  } catch {
    response.destroy() // the others of this turn are not to blame
  }
  if (isTaken(response)) hold?.release()
  else hold ??= holdUnread(departure)
}

const isTaken = (response: ServerResponse): boolean =>
  response.writableLength === 0 && response.writableEnded

/** Counts a response that its caller does not take at once. */
function holdUnread({ response, egress, call, length }: Departure): Hold | undefined {
  if (response.destroyed) return undefined
  const bytes = Math.max(length, response.writableLength)
  const hold = egress.hold({ owner: ownerOf(call), bytes, cut: () => response.destroy() })
  response.once('close', hold.release)
  return hold
}

const bytesOf = (body: string | Uint8Array, length: number): Uint8Array =>
  typeof body === 'string' ? Buffer.from(body, length === body.length ? 'latin1' : 'utf8') : body

/** Writes part after part, as fast as the caller takes them, and ends the response. */
function inParts(response: ServerResponse, bytes: Uint8Array, progress: () => void): void {
  let at = 0
  let isStalled = false
  const taken = () => {
    progress()
    if (!isStalled) return
    isStalled = false
    next()
  }
  const next = () => {
    while (at < bytes.length && !isStalled) {
      const part = bytes.subarray(at, at + PART_BYTES)
      at += part.length
      response.write(part, taken)
      isStalled = response.writableLength > 0
    }
    if (at >= bytes.length && !response.writableEnded) response.end()
  }
  next()
}

/** Writes a part of a stream; false where the caller has to read first. */
export function writeStream(response: ServerResponse, text: string, progress: () => void): boolean {
  if (text.length <= PART_BYTES) return response.write(text)
  const bytes = Buffer.from(text)
  let isFree = true
  for (let at = 0; at < bytes.length; at += PART_BYTES) {
    isFree = response.write(bytes.subarray(at, at + PART_BYTES), progress)
  }
  return isFree
}
