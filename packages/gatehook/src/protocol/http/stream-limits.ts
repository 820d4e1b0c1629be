/** Limits the open streams of one credential, of its group and of this node (§11.5). */
import { Budget, type Level, type Shares } from '../../kernel/budget.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Principal } from '../../kernel/principal.ts'
import { ownerOfPrincipal } from './owner.ts'

const RETRY_AFTER_S = 5
const LABELS: Readonly<Record<Level, string>> = {
  process: 'this node',
  group: 'a customer',
  caller: 'a credential',
}

/**
 * A stream may wait for events as long as it likes. In a full process the first one of a group cuts
 * one of the largest group; the client of that one has others, and cuts none when it reconnects.
 */
export const EVENT_STREAM_SHARES: Shares = {
  ...{ caller: 5, group: 20, process: 200 },
  ...{ small: 0, smallGroup: 1, stalledMs: Number.POSITIVE_INFINITY },
}

export interface StreamLimits {
  /** Throws 429 `rate_limited` if no further stream of the caller may open. */
  admit(principal: Principal): void
  /**
   * Counts a stream; returns the function that ends the count, or undefined if the limits leave no
   * space. `cut` ends the stream when another caller replaces it.
   */
  enter(principal: Principal, cut: () => void): (() => void) | undefined
}

/** Counts the open streams and compares the counts with their limits. */
export function createStreamLimits(shares = EVENT_STREAM_SHARES, noun = 'streams'): StreamLimits {
  const budget = new Budget(shares, { elapsedMs: () => 0 })
  return {
    admit(principal) {
      const level = budget.fullLevel(ownerOfPrincipal(principal), 1)
      if (level === undefined) return
      const problem = `At most ${shares[level]} ${noun} of ${LABELS[level]} are open at a time.`
      throw new Failure('rate_limited', problem, {
        headers: { 'retry-after': String(RETRY_AFTER_S) },
      })
    },
    enter(principal, cut) {
      const holding = budget.hold(ownerOfPrincipal(principal), cut)
      if (holding.grow(1) === undefined) return holding.release
      holding.release()
      return undefined
    },
  }
}
