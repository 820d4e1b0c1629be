/**
 * Pages of the feed for the streams of a node. Each event wakes all streams of its customer and
 * mode, most of which wait at one position: those that request a page before its read begins share
 * the read, whatever types they select. So the work for an event does not grow with the number of
 * streams. Pages are read two at a time, one for a customer, and customers take turns.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { customerNoOf, type Scope } from '../../kernel/principal.ts'
import { createTurns } from '../../kernel/turns.ts'
import type { FeedCursor } from '../../platform/storage/commit-feed.ts'

const CONCURRENT_READS = 2

type ReadFeedPage<P> = (scope: Scope, after: FeedCursor) => Promise<P>

/** Returns a function that reads like `readPage`, and shares pages whose reads have not begun. */
export function sharePages<P>(readPage: ReadFeedPage<P>): ReadFeedPage<P> {
  const takeTurn = createTurns(CONCURRENT_READS)
  const waiting = new Map<string, Promise<P>>()
  return (scope, after) => {
    const key = JSON.stringify([scope, after.txid, after.position, after.lowestId])
    const existing = waiting.get(key)
    if (existing) return existing
    const end = () => waiting.delete(key)
    const page = takeTurn(customerNoOf(scope), async () => {
      // Other requests run before the next page of any stream, and other streams request this one.
      await nextTurn()
      end()
      return readPage(scope, after)
    })
    waiting.set(key, page)
    page.catch(end) // rejected before its turn
    return page
  }
}
