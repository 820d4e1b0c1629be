/**
 * Bodies in small chunks (§11.5). Node's parser makes an object of each chunk before any limit, a
 * hundred times as large as a chunk of one byte. So small chunks of a request are merged as they
 * arrive, and an address that sends many at once on many connections gets no further ones parsed.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { addressBlock } from '../../kernel/address.ts'
import { wallClock } from '../../kernel/clock.ts'

/** Smaller chunks are merged. */
const SMALL_BYTES = 256
const MERGED_BYTES = 4_096
/** Small chunks of a body that are always parsed. */
const FREE_CHUNKS = 64
/** Small chunks of an address that are parsed in one turn of the event loop: about 15 ms. */
const PER_TURN_MAX = 16_384
/** Small chunks of an address that are parsed in a second: about 60 ms. */
const PER_SECOND_MAX = 65_536
const SECOND_MS = 1_000
/** Small chunks of each address, where all of them send more than two such shares in one turn. */
const PER_CONTESTED_TURN_MAX = PER_TURN_MAX / 16

const ARRIVED = Symbol('arrived')
interface Arrived {
  /** Small chunks of the body so far. */
  count: number
  /** Whether the server parses no further ones, because too many arrive at once. */
  isRefused: boolean
}
type ChunkedRequest = IncomingMessage & { [ARRIVED]?: Arrived }
/** Node's parser; its callbacks have numbers. */
type Parser = Record<number, { readonly name: string } | null | undefined>
type ParsedSocket = Socket & { readonly parser?: Parser | null }

/** Returns the count of the small chunks of a body; undefined if it is not chunked. */
export const smallChunksOf = (request: IncomingMessage): Readonly<Arrived> | undefined =>
  (request as ChunkedRequest)[ARRIVED]

/**
 * Returns a function that merges the small chunks of a request, to be called before its body.
 *
 * @param addressOf returns the address of the client
 * @param afterTurn calls a function in the next turn of the event loop
 * @param elapsedMs returns the monotonic time
 */
export function createChunkMerger(
  addressOf: (request: IncomingMessage) => string,
  afterTurn: (next: () => void) => void = setImmediate,
  elapsedMs: () => number = wallClock.elapsedMs,
): (request: IncomingMessage, response: ServerResponse) => void {
  /** Small chunks in this turn of the event loop, by address block. */
  const countByBlock = new Map<string, number>()
  let total = 0
  const endTurn = () => {
    countByBlock.clear()
    total = 0
  }
  const beginTurn = () => {
    afterTurn(endTurn)
    if (elapsedMs() - secondMs < SECOND_MS) return
    secondMs = elapsedMs()
    countBySecond.clear()
  }
  const countBySecond = new Map<string, number>()
  let secondMs = elapsedMs()
  const isOverShare = (block: string): boolean => {
    if (total === 0) beginTurn()
    total += 1
    const count = (countByBlock.get(block) ?? 0) + 1
    countByBlock.set(block, count)
    const countOfSecond = (countBySecond.get(block) ?? 0) + 1
    countBySecond.set(block, countOfSecond)
    if (countOfSecond > PER_SECOND_MAX) return true
    return count > (total > 2 * PER_TURN_MAX ? PER_CONTESTED_TURN_MAX : PER_TURN_MAX)
  }
  return (request, response) => {
    if (request.headers['transfer-encoding'] === undefined) return
    const arrived: Arrived = { count: 0, isRefused: false }
    Object.assign(request, { [ARRIVED]: arrived })
    let block: string | undefined
    const isTooMuch = () => {
      if (arrived.count <= FREE_CHUNKS) return false
      block ??= addressBlock(addressOf(request))
      return isOverShare(block)
    }
    mergeChunks(request, (chunk) => {
      if (arrived.isRefused) return false
      if (chunk.length >= SMALL_BYTES) return true
      arrived.count += 1
      if (!isTooMuch()) return true
      arrived.isRefused = true
      endConnection(request, response)
      return true // its reader learns of the refusal
    })
  }
}

/** Reads nothing more of a connection, which ends after the response. */
function endConnection({ socket }: IncomingMessage, response: ServerResponse): void {
  if (response.headersSent) return void socket.destroy()
  response.shouldKeepAlive = false
  socket.pause()
  ignoreBody(socket)
}

const CALLBACKS = 8

/**
 * Removes Node's callback for chunks: its parser cannot stop in the middle of a buffer, and a call
 * costs twenty times as much as the parse. The parser serves another connection later.
 */
function ignoreBody(socket: ParsedSocket): void {
  const { parser } = socket
  if (!parser) return
  for (let at = 0; at < CALLBACKS; at++) {
    const callback = parser[at]
    if (callback?.name !== 'parserOnBody') continue
    parser[at] = null
    socket.once('close', () => {
      parser[at] = callback
    })
  }
}

/**
 * Passes small chunks on in the next turn of the event loop, or, while earlier bytes wait for their
 * reader, once a buffer is full: a buffer that waits holds as many bytes as it has.
 *
 * @param accepts returns whether a chunk belongs to the body, or is dropped
 */
function mergeChunks(request: IncomingMessage, accepts: (chunk: Buffer) => boolean): void {
  const push = request.push.bind(request)
  const read = request.read.bind(request)
  let merged: Buffer | undefined
  let size = 0
  /** Returns whether the stream takes more. */
  const flush = (): boolean => {
    if (size === 0) return true
    const bytes = merged!.subarray(0, size)
    merged = undefined
    size = 0
    return push(bytes)
  }
  const flushUnlessUnread = () => {
    if (request.readableLength === 0) flush()
  }
  const add = (chunk: Buffer): boolean => {
    const takesMore = size + chunk.length > MERGED_BYTES ? flush() : true
    if (!merged) {
      merged = Buffer.allocUnsafe(MERGED_BYTES)
      setImmediate(flushUnlessUnread)
    }
    merged.set(chunk, size)
    size += chunk.length
    return takesMore
  }
  request.read = (bytes?: number) => {
    const chunk = read(bytes)
    if (size > 0 && request.readableLength === 0) setImmediate(flushUnlessUnread)
    return chunk
  }
  request.push = (chunk: Buffer | null) => {
    if (chunk !== null && !accepts(chunk)) return true
    if (chunk !== null && chunk.length < SMALL_BYTES) return add(chunk)
    // Between small ones, a larger chunk would leave each of them a buffer of its own.
    if (chunk !== null && size > 0 && size + chunk.length <= MERGED_BYTES) return add(chunk)
    const takesMore = flush()
    return push(chunk) && takesMore
  }
}
