/**
 * Bounds the open connections (§11.4): those of the process, and the share of each address. The
 * share shrinks as the process fills, so that no address takes the connections of the others.
 */
import { addressBlock, createRangeMatcher, unmapAddress } from '../../kernel/address.ts'

/** An address may hold this fraction of the free connections … */
const SHARE = 1 / 4
/** … and always this many. */
const MIN_SHARE = 16

export interface ConnectionLimit {
  /**
   * Counts a connection of an address. Returns the function that ends the count; undefined if the
   * connection must be refused.
   */
  open(address: string): (() => void) | undefined
}

/** @param proxies the trusted proxies, which connect for all clients and have no share */
export function createConnectionLimit(
  maxConnections: number,
  proxies: readonly string[] = [],
): ConnectionLimit {
  const isProxy = createRangeMatcher(proxies)
  const countByBlock = new Map<string, number>()
  let total = 0
  return {
    open(address) {
      const block = addressBlock(address)
      const count = countByBlock.get(block) ?? 0
      const free = maxConnections - total
      const isOverShare =
        count >= Math.max(MIN_SHARE, free * SHARE) && !isProxy(unmapAddress(address))
      if (free <= 0 || isOverShare) return undefined
      countByBlock.set(block, count + 1)
      total += 1
      return () => {
        total -= 1
        const remaining = countByBlock.get(block)! - 1
        if (remaining > 0) countByBlock.set(block, remaining)
        else countByBlock.delete(block)
      }
    },
  }
}
