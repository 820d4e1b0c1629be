/**
 * Delays rejections of which a sender can cause any number (§11.5): those of requests without a
 * valid credential, from any number of addresses, and those beyond a request limit. While callers
 * with credentials send requests, rejections use a part of the time; the rest of them wait.
 */
import { STRANGERS } from '../../kernel/caller-group.ts'
import type { Clock } from '../../kernel/clock.ts'
import { createShare } from '../../kernel/share.ts'
import type { Call } from './call.ts'
import { ownerOf } from './owner.ts'

/** The time of this thread for a rejection, with the connection that it often has to itself. */
const REFUSAL_MS = 0.4
/** The part of the time for all rejections of requests without a credential. */
const PART = 0.05
/** An address, or the callers of a customer, has this fraction of it. */
const CALLERS = 4
/** Rejections without delay after a pause: 250, of one address a quarter. */
const BURST_MS = 100
/** A rejection waits at most this long. */
const DELAY_MAX_MS = 1_000

export interface Refusals {
  /** Notes a request of a group with a credential. */
  note(group: string): void
  /** Counts a response if it is such a rejection. Returns how long it waits, in milliseconds. */
  delayMs(call: Pick<Call, 'principal' | 'address'>, status: number): number
}

export function createRefusals(clock: Pick<Clock, 'elapsedMs'>): Refusals {
  const share = createShare({
    ...{ clock, part: PART, burstMs: BURST_MS },
    ...{ restMaxMs: DELAY_MAX_MS, isBesideOthers: true },
  })
  return {
    note: share.note,
    delayMs(call, status) {
      const isRefusal = status >= 400 && status < 500 && (!call.principal || status === 429)
      if (!isRefusal) return 0
      // An address that waits takes no part of the others.
      const restMs = share.addWork(ownerOf(call).group, CALLERS * REFUSAL_MS)
      return restMs > 0 || call.principal ? restMs : share.addWork(STRANGERS, REFUSAL_MS)
    },
  }
}
