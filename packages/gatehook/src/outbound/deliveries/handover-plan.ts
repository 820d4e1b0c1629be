/** Plans which customers a node hands over, so that nodes hold about as many each. Pure. */
import type { DeliveryNode, Handover } from '../../platform/nodes/lease-store.ts'

/** Customers handed over at a time. */
const HANDOVER_MAX = 64

/**
 * Assigns the customers beyond this node's share to the nodes with the fewest.
 *
 * @param candidates the customers that this node may hand over, the preferred ones first
 */
export function planHandovers(
  candidates: readonly number[],
  heldCount: number,
  others: readonly DeliveryNode[],
): Handover[] {
  const total = others.reduce((sum, { customers }) => sum + customers, heldCount)
  const share = Math.ceil(total / (others.length + 1))
  if (others.length === 0 || heldCount <= share) return []
  const counts = others.map(({ id, customers }) => ({ id, customers }))
  return candidates.slice(0, Math.min(heldCount - share, HANDOVER_MAX)).map((customer) => {
    const target = counts.reduce((least, other) =>
      other.customers < least.customers ? other : least,
    )
    target.customers += 1
    return { customer, target: target.id }
  })
}
