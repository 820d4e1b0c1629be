/**
 * Large responses are built one after the other for each owner (§11.5): the bound of what waits to
 * be read is then applied to each before the database is read for the next.
 */
import { createTurns } from '../kernel/turns.ts'

/** Large responses that the process builds at once; each owner has one of them at most. */
const BUILT_AT_ONCE_MAX = 4

export interface LargeResponses {
  /**
   * Resolves when `owner` may build `response`. Until `end`, its further ones wait. Throws
   * `overloaded` where too many wait.
   */
  begin(response: object, owner: string): Promise<void>
  /** The response is counted by `egress.ts`, or was not built. Any response may be passed. */
  end(response: object): void
}

export function createLargeResponses(): LargeResponses {
  const turns = createTurns(BUILT_AT_ONCE_MAX)
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
