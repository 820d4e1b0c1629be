/** Limits the open streams of one credential, of one customer and of this node (§11.5). */
import { credentialName, type Principal } from '../../kernel/principal.ts'

/** The most open streams. */
interface StreamMaxima {
  readonly credential: number
  readonly customer: number
  readonly node: number
}

const EVENT_STREAMS: StreamMaxima = { credential: 5, customer: 20, node: 200 }

/** Counts the open streams and compares the counts with their limits. */
export function createStreamLimits(maxima = EVENT_STREAMS, noun = 'streams') {
  const open = new Map<string, number>()
  const limitsOf = (principal: Principal) => [
    { key: 'node', most: maxima.node, label: 'this node' },
    { key: `customer ${principal.customer}`, most: maxima.customer, label: 'a customer' },
    { key: credentialName(principal), most: maxima.credential, label: 'a credential' },
  ]
  const add = (key: string, change: 1 | -1) => {
    const count = (open.get(key) ?? 0) + change
    if (count > 0) open.set(key, count)
    else open.delete(key)
  }
  return {
    /** Returns a sentence when no further stream may open; otherwise undefined. */
    problemFor(principal: Principal): string | undefined {
      const limit = limitsOf(principal).find(({ key, most }) => (open.get(key) ?? 0) >= most)
      return limit && `At most ${limit.most} ${noun} of ${limit.label} are open at a time.`
    },
    /** Counts a stream; returns the function that ends the count. */
    enter(principal: Principal): () => void {
      const keys = limitsOf(principal).map(({ key }) => key)
      for (const key of keys) add(key, 1)
      return () => {
        for (const key of keys) add(key, -1)
      }
    },
  }
}
