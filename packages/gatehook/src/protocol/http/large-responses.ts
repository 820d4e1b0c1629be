/**
 * Serializes the construction of large responses per owner (§11.5), so that the bound on unread
 * bytes applies to each response before the database is read for the next. Beside others, an owner
 * rests after a large response.
 */

import type { Clock } from '../../kernel/clock.ts'
import type { Activity } from '../../kernel/pace.ts'
import { createTurns, type Rests, wakeAfter } from '../../kernel/turns.ts'

/** Large responses under construction in the process; each owner has at most one of them. */
const MAX_CONCURRENT = 4

export interface LargeResponses {
  /**
   * Resolves when `owner` may build `response`; its further responses wait until `end`.
   *
   * @throws `overloaded` if too many responses wait.
   */
  begin(response: object, owner: string): Promise<void>
  /** Ends the construction: `egress.ts` counts the response, or it was not built. */
  end(response: object): void
}

export function createLargeResponses(
  { restMs }: Pick<Activity, 'restMs'>,
  clock: Pick<Clock, 'elapsedMs'>,
): LargeResponses {
  // `Call.beginLarge` counts the work by its bytes.
  const rests: Rests = { clock, after: wakeAfter, restMs, add: () => {} }
  const turns = createTurns(MAX_CONCURRENT, { rests })
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
      turns(owner, build).catch(reject)
      return promise
    },
    end(response) {
      ends.get(response)?.()
      ends.delete(response)
    },
  }
}
