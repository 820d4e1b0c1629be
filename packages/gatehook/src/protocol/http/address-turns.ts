/**
 * The turns of addresses in the event loop (§11.5). One address may have thousands of connections
 * that all send something at once. A turn of the loop begins a few milliseconds of their work; the
 * rest waits for later turns, in which addresses alternate.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { addressBlock } from '../../kernel/address.ts'
import type { Clock } from '../../kernel/clock.ts'

/** Work begins during this time of a turn. */
const TURN_MS = 5
/**
 * The time of a turn in which a connection was accepted: Node accepts one in each, so that many new
 * connections with work would keep others waiting to be accepted.
 */
const ACCEPTING_TURN_MS = 0.5
/** Work that waited and begins in one turn. */
const PER_TURN_MAX = 64

/** Runs work at once, or after the work of other addresses if this turn of the loop has no time. */
export type TakeAddressTurn = (addressOf: () => string, work: () => void) => void

export interface AddressTurns {
  readonly take: TakeAddressTurn
  /** Notes that this turn of the loop has accepted a connection. */
  readonly noteAccept: () => void
}

/** @param afterTurn calls a function after the event loop has read from other connections */
export function createAddressTurns(
  clock: Pick<Clock, 'elapsedMs'>,
  afterTurn: (next: () => void) => void = setImmediate,
): AddressTurns {
  /** The lines of the address blocks, in the order of their turns. */
  const waiting = new Map<string, (() => void)[]>()
  let waitingCount = 0
  /** Calls of `next` that are due in this turn. */
  let dueCount = 0
  /** When the first work of this turn began. */
  let startMs: number | undefined
  let hasAccepted = false

  const hasTime = (): boolean => {
    const nowMs = clock.elapsedMs()
    startMs ??= nowMs
    return nowMs < startMs + (hasAccepted ? ACCEPTING_TURN_MS : TURN_MS)
  }
  const beginTurn = () => {
    startMs = undefined
    hasAccepted = false
    dueCount = Math.max(1, Math.min(waitingCount, PER_TURN_MAX))
    for (let count = 0; count < dueCount; count++) afterTurn(next)
  }
  const runFirst = () => {
    const [block, line] = waiting.entries().next().value!
    const work = line.shift()!
    waitingCount -= 1
    waiting.delete(block)
    if (line.length > 0) waiting.set(block, line)
    work()
  }
  // Runs one work: its promises go on before the next call.
  const next = () => {
    dueCount -= 1
    try {
      if (waitingCount > 0 && hasTime()) runFirst()
    } finally {
      if (dueCount === 0 && waitingCount > 0) beginTurn()
    }
  }
  const noteAccept = () => {
    if (dueCount === 0) beginTurn()
    hasAccepted = true
  }
  const take: TakeAddressTurn = (addressOf, work) => {
    if (dueCount === 0) beginTurn()
    if (waitingCount === 0 && hasTime()) return work()
    const block = addressBlock(addressOf())
    const line = waiting.get(block)
    // The turn of another request has the context of that one.
    const ownWork = AsyncLocalStorage.bind(work)
    if (line) line.push(ownWork)
    else waiting.set(block, [ownWork])
    waitingCount += 1
  }
  return { take, noteAccept }
}
