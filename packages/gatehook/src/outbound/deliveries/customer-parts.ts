/**
 * Parts of a customer: the endpoints whose number has a residue by a modulus. A node that is
 * saturated by one customer leases a part of it to another node. The most specific part that
 * contains an endpoint decides; the rest belongs to the node that holds the customer. Pure.
 */
import type { NodeLoad } from './ports.ts'

export interface CustomerPart {
  readonly customer: number
  /** A power of two, at most `MODULUS_MAX`. */
  readonly modulus: number
  readonly residue: number
}

export interface PartLease extends CustomerPart {
  readonly node: string
  /** The node that holds the customer; undefined: none does. */
  readonly holder: string | undefined
}

/** So many nodes serve one customer at most. */
export const MODULUS_MAX = 16
/** Deliveries a second that each half of a customer may send at least; otherwise one node does. */
const HALF_RATE_MIN = 100
/** The part of a customer's attempts that another node should get. */
const SHARE_MIN = 0.25
const SHARE_MAX = 0.75

export const includesEndpoint = ({ modulus, residue }: CustomerPart, endpoint: number): boolean =>
  endpoint % modulus === residue

export const isSamePart = (a: CustomerPart, b: CustomerPart): boolean =>
  a.customer === b.customer && a.modulus === b.modulus && a.residue === b.residue

/** Returns the most specific of a customer's parts that contains an endpoint. */
export function findPart<P extends CustomerPart>(
  parts: readonly P[],
  endpoint: number,
): P | undefined {
  let best: P | undefined
  for (const part of parts) {
    const isCloser = part.modulus > (best?.modulus ?? 0)
    if (isCloser && includesEndpoint(part, endpoint)) best = part
  }
  return best
}

/**
 * Selects about half of the customer that saturates a node; undefined if several customers do, or
 * one endpoint, or the rate of the customer limits it, so that another node would not help.
 *
 * @param shareOf the part of a customer's rate that this node has
 */
export function planSplit(
  load: NodeLoad,
  existing: readonly CustomerPart[],
  shareOf: (customer: number) => number,
): CustomerPart | undefined {
  const startsOf = (starts: ReadonlyMap<number, number>) =>
    [...starts.values()].reduce((sum, count) => sum + count, 0)
  const counts = load.customers.map((entry) => ({ ...entry, total: startsOf(entry.starts) }))
  const busiest = counts.reduce((a, b) => (b.total > a.total ? b : a), counts[0]!)
  const all = counts.reduce((sum, { total }) => sum + total, 0)
  if (!busiest || busiest.total === 0 || busiest.total * 2 < all) return undefined
  const { customer, ratePerS, starts, total } = busiest
  if (ratePerS !== undefined && (ratePerS * shareOf(customer)) / 2 < HALF_RATE_MIN) return undefined
  for (let modulus = 2; modulus <= MODULUS_MAX; modulus *= 2) {
    const sums = new Array<number>(modulus).fill(0)
    for (const [endpoint, count] of starts) sums[endpoint % modulus]! += count
    const nearest = Math.min(...sums.map((sum) => Math.abs(sum - total / 2)))
    const residue = sums.findIndex((sum) => Math.abs(sum - total / 2) === nearest)
    const part = { customer, modulus, residue }
    const share = sums[residue]! / total
    if (share < SHARE_MIN || share > SHARE_MAX) continue
    if (!existing.some((other) => isSamePart(other, part))) return part
  }
  return undefined
}
