/**
 * What waits to be read by callers (§11.5): how much of it the process and one customer may hold,
 * and how long a caller may stop reading. Knows bytes and times; what sends them is
 * `departure.ts`.
 */
import { addressBlock } from '../kernel/address.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Call, Step } from './call.ts'
import { createLargeResponses, type LargeResponses } from './large-responses.ts'

const MIB = 1_048_576

export interface EgressBounds {
  /** One response. */
  readonly responseBytes: number
  /** All responses of one customer, or of one address without a credential, that wait. */
  readonly customerBytes: number
  /** All responses that wait. */
  readonly processBytes: number
  /** A response of which nothing was read for so long is cut. */
  readonly unreadMs: number
  /** While the process is at its bound, a response that was not read for so long is cut. */
  readonly idleMs: number
}

export const defaultEgressBounds: EgressBounds = {
  responseBytes: 8 * MIB,
  customerBytes: 8 * MIB,
  processBytes: 64 * MIB,
  unreadMs: 30_000,
  idleMs: 1000,
}

/** A response of this size is counted before it is sent; a smaller one only where it waits. */
export const LARGE_BYTES = 65_536
const SWEEPS_PER_BOUND = 10
const RETRY_AFTER_S = 1

/** A response that waits. */
export interface Waiting {
  /** The customer, or the address block of a caller without a credential. */
  readonly owner: string
  readonly bytes: number
  /** Ends the connection. */
  readonly cut: () => void
}

export interface Egress {
  readonly bounds: EgressBounds
  readonly large: LargeResponses
  /** Whether what waits for the caller leaves no space for a large response. */
  isFull(call: Call): boolean
  /** Bytes that the next response of `owner` may have; the only one may have the bound. */
  freeBytes(owner: string): number
  /** Whether one more response of `bytes` fits; in a full process, cuts idle ones. */
  makeSpace(owner: string, bytes: number): boolean
  hold(response: Waiting): Hold
  /** Bytes of all responses that wait. */
  waitingBytes(): number
  /** Cuts what was not read in time; a timer calls it while anything waits. */
  sweep(): void
}

export interface Hold {
  /** The caller has read a part. */
  progress(): void
  /** The response was sent, or its connection ended. */
  release(): void
}

interface Held {
  readonly response: Waiting
  progressMs: number
}

/** Whom a response counts for while it waits to be read: its customer, or its address. */
export const ownerOf = ({ principal, address }: Call): string =>
  principal ? principal.customer : `address:${addressBlock(address)}`

/** The step that refuses to read anything for a caller who does not read what it has (503). */
export const shed =
  (egress: Egress): Step =>
  (call) => {
    if (call.method === 'GET' && egress.isFull(call)) throw overloaded()
  }

export function overloaded(): Failure {
  return new Failure('overloaded', 'Earlier responses wait to be read. Read them, then retry.', {
    headers: { 'retry-after': String(RETRY_AFTER_S) },
  })
}

export function createEgress(
  clock: Pick<Clock, 'elapsedMs'>,
  some: Partial<EgressBounds> = {},
): Egress {
  const bounds = { ...defaultEgressBounds, ...some }
  /** In the order in which their callers last read. */
  const held = new Set<Held>()
  const bytesByOwner = new Map<string, number>()
  let waitingBytes = 0
  let timer: NodeJS.Timeout | undefined

  const bytesOf = (owner: string) => bytesByOwner.get(owner) ?? 0
  const remove = (one: Held): void => {
    if (!held.delete(one)) return
    const { owner, bytes } = one.response
    waitingBytes -= bytes
    const left = bytesOf(owner) - bytes
    if (left > 0) bytesByOwner.set(owner, left)
    else bytesByOwner.delete(owner)
    if (held.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
  const cut = (one: Held): void => {
    remove(one)
    one.response.cut()
  }
  const cutWhere = (idleMs: number, isEnough: () => boolean): void => {
    const now = clock.elapsedMs()
    for (const one of held) {
      if (now - one.progressMs < idleMs || isEnough()) return
      cut(one)
    }
  }
  const egress: Egress = {
    bounds,
    large: createLargeResponses(),
    isFull: (call) => held.size > 0 && bytesOf(ownerOf(call)) + LARGE_BYTES > bounds.customerBytes,
    freeBytes(owner) {
      const waiting = bytesOf(owner)
      return waiting === 0 ? bounds.responseBytes : bounds.customerBytes - waiting
    },
    makeSpace(owner, bytes) {
      if (bytesOf(owner) > 0 && bytesOf(owner) + bytes > bounds.customerBytes) return false
      const fits = () => waitingBytes + bytes <= bounds.processBytes
      if (!fits()) cutWhere(bounds.idleMs, fits)
      return fits()
    },
    hold(response) {
      const one: Held = { response, progressMs: clock.elapsedMs() }
      held.add(one)
      waitingBytes += response.bytes
      bytesByOwner.set(response.owner, bytesOf(response.owner) + response.bytes)
      timer ??= setInterval(egress.sweep, bounds.unreadMs / SWEEPS_PER_BOUND).unref()
      // A large response was given its space before; small ones add up, and the last is cut.
      const isOver = () => waitingBytes > bounds.processBytes
      if (isOver()) cutWhere(bounds.idleMs, () => !isOver())
      const isOnly = bytesOf(response.owner) === response.bytes
      if (isOver() || (!isOnly && bytesOf(response.owner) > bounds.customerBytes)) cut(one)
      return {
        progress() {
          if (!held.delete(one)) return
          one.progressMs = clock.elapsedMs()
          held.add(one)
        },
        release: () => remove(one),
      }
    },
    waitingBytes: () => waitingBytes,
    sweep: () => cutWhere(bounds.unreadMs, () => false),
  }
  return egress
}
