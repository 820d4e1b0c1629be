/**
 * Bounds the open connections (§11.4): those of the process, and the share of each address. The
 * share shrinks as the process fills, so that no address takes the connections of the others. The
 * /64 blocks of an IPv6 site, a /48, have a share together: an attacker has all of them.
 */
import {
  addressBlock,
  createRangeMatcher,
  siteOfBlock,
  unmapAddress,
} from '../../kernel/address.ts'

/** A holder may have `part` of the free connections, and always `least`. */
interface ConnectionShare {
  readonly part: number
  readonly least: number
}

const ADDRESS: ConnectionShare = { part: 1 / 4, least: 16 }
const SITE: ConnectionShare = { part: 1 / 2, least: 32 }

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
  const counts = new Map<string, number>()
  let total = 0
  const add = (holder: string, change: 1 | -1) => {
    const count = (counts.get(holder) ?? 0) + change
    if (count > 0) counts.set(holder, count)
    else counts.delete(holder)
  }
  return {
    open(address) {
      const block = addressBlock(address)
      const site = siteOfBlock(block)
      const holders = [block, ...(site === undefined ? [] : [site])]
      const free = maxConnections - total
      const isOver = (holder: string, { part, least }: ConnectionShare) =>
        (counts.get(holder) ?? 0) >= Math.max(least, free * part)
      const isOverShare = isOver(block, ADDRESS) || (site !== undefined && isOver(site, SITE))
      if (free <= 0 || (isOverShare && !isProxy(unmapAddress(address)))) return undefined
      for (const holder of holders) add(holder, 1)
      total += 1
      return () => {
        total -= 1
        for (const holder of holders) add(holder, -1)
      }
    },
  }
}
