/**
 * Serializes the construction of large responses per customer and mode (§11.5), so that the bound
 * on unread bytes applies to each response before the database is read for the next. The callers of
 * a customer take turns. Beside others, a customer rests after a large response.
 */

import type { BudgetOwner } from '../../kernel/budget.ts'
import { createOwnerTurns } from '../../kernel/caller-group.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Share } from '../../kernel/share.ts'
import { type Rests, wakeAfter } from '../../kernel/turns.ts'

/** Large responses under construction in the process, at most one of each customer and mode. */
const MAX_CONCURRENT = 4

export interface LargeResponses {
  /**
   * Resolves when `owner` may build `response`; its further responses wait until `end`.
   *
   * @throws `overloaded` if too many responses wait.
   */
  begin(response: object, owner: BudgetOwner): Promise<void>
  /** Ends the construction: `egress.ts` counts the response, or it was not built. */
  end(response: object): void
}

export function createLargeResponses(
  { restMs }: Pick<Share, 'restMs'>,
  clock: Pick<Clock, 'elapsedMs'>,
): LargeResponses {
  // `Call.beginLarge` counts the work by its bytes.
  const rests: Rests = { clock, after: wakeAfter, restMs, addWork: () => 0 }
  // The members of a customer are its callers, so its queue alternates.
  const take = createOwnerTurns(MAX_CONCURRENT, { rests })
  const ends = new Map<object, () => void>()
  return {
    begin(response, owner) {
      if (ends.has(response)) return Promise.resolve()
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const build = () => {
        const { promise: end, resolve: release } = Promise.withResolvers<void>()
        ends.set(response, release)
        resolve()
        return end
      }
      take(owner, build).catch(reject)
      return promise
    },
    end(response) {
      ends.get(response)?.()
      ends.delete(response)
    },
  }
}
