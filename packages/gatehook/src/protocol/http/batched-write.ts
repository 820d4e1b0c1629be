/**
 * Writes the responses of one turn of the event loop together. A write may have to wake its reader,
 * which costs more than the write; readers of a burst are awake already. With 32 connections on
 * loopback, that saves 25 of 65 µs per request.
 *
 * A large body is written in parts, which distinguishes a caller who reads slowly from one who does
 * not read (§11.5).
 */
import type { ServerResponse } from 'node:http'
import type { Call } from './call.ts'
import type { Egress, Hold } from './egress.ts'
import { ownerOf } from './owner.ts'

/** A response whose head is written. */
interface QueuedResponse {
  readonly response: ServerResponse
  /** Undefined without a body. */
  readonly body: string | Uint8Array | undefined
  /** Bytes of the body. */
  readonly length: number
  readonly egress: Egress
  /** The request that the bytes are counted for while they are unread. */
  readonly call: Call
  /** The hold of a large body, which is counted before it is written. */
  readonly hold: Hold | undefined
}

/** Bytes passed to the socket at once. */
const PART_BYTES = 65_536

let queue: QueuedResponse[] = []

/** Queues a response for the end of this turn of the event loop. */
export function queueResponse(queued: QueuedResponse): void {
  if (queue.length === 0) setImmediate(flushResponses)
  queue.push(queued)
}

export function flushResponses(): void {
  const responses = queue
  queue = []
  for (const response of responses) end(response)
}

function end(queued: QueuedResponse): void {
  const { response, body, length } = queued
  let { hold } = queued
  try {
    if (body === undefined) response.end()
    else if (hold || length > PART_BYTES) {
      writeParts(response, bytesOf(body, length), () => hold?.progress())
    }
    // As many bytes as characters: the text is ASCII, and latin1 needs no encoding.
    else if (typeof body === 'string' && length === body.length) response.end(body, 'latin1')
    else response.end(body)
  } catch {
    response.destroy() // an error must not affect the other responses of this turn
  }
  if (isWritten(response)) hold?.release()
  else hold ??= holdUnread(queued)
}

const isWritten = (response: ServerResponse): boolean =>
  response.writableLength === 0 && response.writableEnded

/** Counts a response that its socket does not take at once; cuts it if it does not fit. */
function holdUnread({ response, egress, call, length }: QueuedResponse): Hold | undefined {
  if (response.destroyed) return undefined
  const bytes = Math.max(length, response.writableLength)
  const cut = () => void response.destroy()
  const hold = egress.hold({ owner: ownerOf(call), bytes, cut })
  if (hold) response.once('close', hold.release)
  else cut()
  return hold
}

const bytesOf = (body: string | Uint8Array, length: number): Uint8Array =>
  typeof body === 'string' ? Buffer.from(body, length === body.length ? 'latin1' : 'utf8') : body

/** Writes a body part by part, as fast as the caller reads, and ends the response. */
function writeParts(response: ServerResponse, bytes: Uint8Array, onProgress: () => void): void {
  let at = 0
  let isStalled = false
  const onWritten = () => {
    onProgress()
    if (!isStalled) return
    isStalled = false
    writeNext()
  }
  const writeNext = () => {
    while (at < bytes.length && !isStalled) {
      const part = bytes.subarray(at, at + PART_BYTES)
      at += part.length
      response.write(part, onWritten)
      isStalled = response.writableLength > 0
    }
    if (at >= bytes.length && !response.writableEnded) response.end()
  }
  writeNext()
}

/** Writes a part of a stream; returns false if the caller must read first. */
export function writeStream(
  response: ServerResponse,
  text: string | Uint8Array,
  onProgress: () => void,
): boolean {
  if (text.length <= PART_BYTES) return response.write(text)
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  let isFree = true
  for (let at = 0; at < bytes.length; at += PART_BYTES) {
    isFree = response.write(bytes.subarray(at, at + PART_BYTES), onProgress)
  }
  return isFree
}
