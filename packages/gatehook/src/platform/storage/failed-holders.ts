/**
 * Detects the nodes that hold rows and have failed. The first look of a service that holds a SQLite
 * file finds all other holders failed: they are processes that have ended.
 */
import type { Clock } from '../../kernel/clock.ts'
import { createFailureDetector } from '../../kernel/failure-detector.ts'
import type { Database } from './database.ts'

/** Returns a function that receives the heartbeat counters of the other holders. */
export function createHolderWatch<K>(
  { generation }: Pick<Database, 'generation'>,
  clock: Clock,
  failedAfterMs: number,
): ReturnType<typeof createFailureDetector<K>> {
  const findFailed = createFailureDetector<K>(clock, failedAfterMs)
  let haveEnded = generation !== undefined
  return (heartbeats) => {
    const failed = findFailed(heartbeats)
    if (!haveEnded) return failed
    haveEnded = false
    return heartbeats.map(([key]) => key)
  }
}
