/**
 * Bounds the responses that callers have not read yet (§11.5): their bytes per customer and in the
 * process, and the time without progress. `batched-write.ts` sends them.
 */
import { addressBlock } from '../../kernel/address.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { type Activity, createActivity } from '../../kernel/pace.ts'
import { ANSWER_BYTES_MAX } from './answer-budget.ts'
import type { Call, Step } from './call.ts'
import { createLargeResponses, type LargeResponses } from './large-responses.ts'

const MIB = 1_048_576

export interface EgressBounds {
  /** One response. */
  readonly responseBytes: number
  /** All unread responses of a customer, or of an address without a credential. */
  readonly customerBytes: number
  /** All unread responses of the process. */
  readonly processBytes: number
  /** A response without progress for this time is cut. */
  readonly unreadMs: number
  /** The shorter time while the unread bytes of the process reach `processBytes`. */
  readonly idleMs: number
}

export const defaultEgressBounds: EgressBounds = {
  responseBytes: ANSWER_BYTES_MAX,
  customerBytes: 8 * MIB,
  processBytes: 64 * MIB,
  unreadMs: 30_000,
  idleMs: 1000,
}

/** A response of this size counts before it is sent; a smaller one counts if it stays unread. */
export const LARGE_BYTES = 65_536
/** The part of this thread's time for the long work of a customer, while others send requests. */
const LONG_WORK_PART = 0.1
const SWEEPS_PER_BOUND = 10
const RETRY_AFTER_S = 1

interface UnreadResponse {
  /** The customer, or the address block of a caller without a credential. */
  readonly owner: string
  readonly bytes: number
  /** Ends the connection. */
  readonly cut: () => void
}

export interface Egress {
  readonly bounds: EgressBounds
  readonly large: LargeResponses
  /** The customers whose requests arrived lately, and the rest of those with long work. */
  readonly activity: Activity
  /** Returns whether the unread bytes of a caller leave no space for a large response. */
  isFull(call: Call): boolean
  /** Returns the maximum of bytes for the next response of `owner`. */
  freeBytes(owner: string): number
  /** Returns whether a response of `bytes` fits; cuts idle responses if the process is full. */
  makeSpace(owner: string, bytes: number): boolean
  /** Counts a response. */
  hold(response: UnreadResponse): Hold
  unreadBytes(): number
  /** Cuts responses without progress; a timer calls it while any response is unread. */
  sweep(): void
}

export interface Hold {
  /** Reports that the caller has read a part. */
  progress(): void
  /** Reports that the response was sent or its connection ended. */
  release(): void
}

interface CountedResponse {
  readonly response: UnreadResponse
  progressMs: number
}

/** Returns the owner of unread bytes: the customer, or the address block of the client. */
export const ownerOf = ({ principal, address }: Call): string =>
  principal ? principal.customer : `address:${addressBlock(address)}`

/** Returns the step that rejects reads with 503 while the caller has too many unread bytes. */
export const shed =
  (egress: Egress): Step =>
  (call) => {
    if (call.method === 'GET' && egress.isFull(call)) throw overloadFailure()
  }

export function overloadFailure(): Failure {
  return new Failure('overloaded', 'Earlier responses are unread. Read them, then retry.', {
    headers: { 'retry-after': String(RETRY_AFTER_S) },
  })
}

export function createEgress(
  clock: Pick<Clock, 'elapsedMs'>,
  customBounds: Partial<EgressBounds> = {},
): Egress {
  const bounds = { ...defaultEgressBounds, ...customBounds }
  const activity = createActivity(clock, LONG_WORK_PART)
  /** In the order of their latest progress. */
  const responses = new Set<CountedResponse>()
  const bytesByOwner = new Map<string, number>()
  let unreadBytes = 0
  let timer: NodeJS.Timeout | undefined

  const bytesOf = (owner: string) => bytesByOwner.get(owner) ?? 0
  const remove = (entry: CountedResponse): void => {
    if (!responses.delete(entry)) return
    const { owner, bytes } = entry.response
    unreadBytes -= bytes
    const remaining = bytesOf(owner) - bytes
    if (remaining > 0) bytesByOwner.set(owner, remaining)
    else bytesByOwner.delete(owner)
    if (responses.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
  const cut = (entry: CountedResponse): void => {
    remove(entry)
    entry.response.cut()
  }
  const cutIdle = (idleMs: number, isEnough: () => boolean): void => {
    const now = clock.elapsedMs()
    for (const entry of responses) {
      if (now - entry.progressMs < idleMs || isEnough()) return
      cut(entry)
    }
  }
  const egress: Egress = {
    bounds,
    large: createLargeResponses(activity, clock),
    activity,
    isFull: (call) =>
      responses.size > 0 && bytesOf(ownerOf(call)) + LARGE_BYTES > bounds.customerBytes,
    freeBytes(owner) {
      const unreadBytes = bytesOf(owner)
      return unreadBytes === 0 ? bounds.responseBytes : bounds.customerBytes - unreadBytes
    },
    makeSpace(owner, bytes) {
      if (bytesOf(owner) > 0 && bytesOf(owner) + bytes > bounds.customerBytes) return false
      const fits = () => unreadBytes + bytes <= bounds.processBytes
      if (!fits()) cutIdle(bounds.idleMs, fits)
      return fits()
    },
    hold(response) {
      const entry: CountedResponse = { response, progressMs: clock.elapsedMs() }
      responses.add(entry)
      unreadBytes += response.bytes
      bytesByOwner.set(response.owner, bytesOf(response.owner) + response.bytes)
      timer ??= setInterval(egress.sweep, bounds.unreadMs / SWEEPS_PER_BOUND).unref()
      // Large responses have reserved their bytes; small ones add up, and the last one is cut.
      const isOver = () => unreadBytes > bounds.processBytes
      if (isOver()) cutIdle(bounds.idleMs, () => !isOver())
      const isOnly = bytesOf(response.owner) === response.bytes
      if (isOver() || (!isOnly && bytesOf(response.owner) > bounds.customerBytes)) cut(entry)
      return {
        progress() {
          if (!responses.delete(entry)) return
          entry.progressMs = clock.elapsedMs()
          responses.add(entry)
        },
        release: () => remove(entry),
      }
    },
    unreadBytes: () => unreadBytes,
    sweep: () => cutIdle(bounds.unreadMs, () => false),
  }
  return egress
}
