/**
 * Bounds the responses that callers have not read yet (§11.5): their bytes per caller, per customer
 * and in the process, and the time without progress. `batched-write.ts` sends them.
 */
import { Budget, type BudgetOwner, type Shares } from '../../kernel/budget.ts'
import { createGroupShare } from '../../kernel/caller-group.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { BESIDE_OTHERS } from '../../kernel/pace.ts'
import type { Share } from '../../kernel/share.ts'
import { ANSWER_BYTES_MAX } from './answer-budget.ts'
import type { Call, Step } from './call.ts'
import { createLargeResponses, type LargeResponses } from './large-responses.ts'
import { ownerOf } from './owner.ts'

const MIB = 1_048_576

export interface EgressBounds {
  /** One response. */
  readonly responseBytes: number
  /** All unread responses. One response may have more than the share of a caller. */
  readonly shares: Shares
  /** A response without progress for this time is cut. */
  readonly unreadMs: number
}

export const defaultEgressBounds: EgressBounds = {
  responseBytes: ANSWER_BYTES_MAX,
  shares: { process: 64 * MIB, group: 8 * MIB, caller: 4 * MIB, small: MIB, stalledMs: 1000 },
  unreadMs: 30_000,
}

/** A response of this size counts before it is sent; a smaller one counts if it stays unread. */
export const LARGE_BYTES = 65_536
const SWEEPS_PER_BOUND = 10
const RETRY_AFTER_S = 1

interface UnreadResponse {
  readonly owner: BudgetOwner
  readonly bytes: number
  /** Ends the connection. */
  readonly cut: () => void
}

export interface Egress {
  readonly bounds: EgressBounds
  readonly large: LargeResponses
  /** The groups whose requests arrived lately, and the rest of those with long work. */
  readonly share: Share
  /** Returns whether the unread bytes of a caller leave no space for a large response. */
  isFull(call: Call): boolean
  /** Returns the maximum of bytes for the next response of `owner`. */
  freeBytes(owner: BudgetOwner): number
  /** Counts a response. Returns undefined, and does not cut it, if it does not fit. */
  hold(response: UnreadResponse): Hold | undefined
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
  const share = createGroupShare({ clock, ...BESIDE_OTHERS })
  const budget = new Budget(bounds.shares, clock)
  let timer: NodeJS.Timeout | undefined

  const egress: Egress = {
    bounds,
    large: createLargeResponses(share, clock),
    share,
    isFull(call) {
      if (budget.total === 0) return false
      const owner = ownerOf(call)
      if (budget.heldBy(owner) === 0) return false
      const level = budget.fullLevel(owner, LARGE_BYTES)
      return level === 'caller' || level === 'group'
    },
    freeBytes: (owner) => budget.free(owner, bounds.responseBytes),
    hold({ owner, bytes, cut }) {
      const holding = budget.hold(owner, cut)
      if (holding.grow(bytes) !== undefined) {
        holding.release()
        return undefined
      }
      timer ??= setInterval(egress.sweep, bounds.unreadMs / SWEEPS_PER_BOUND).unref()
      return holding
    },
    unreadBytes: () => budget.total,
    sweep() {
      budget.cutStalled(bounds.unreadMs)
      if (budget.total > 0) return
      clearInterval(timer)
      timer = undefined
    },
  }
  return egress
}
