/** Finds nodes that have ended without a successor. Pure. */
import type { EndedNode, NodeState } from './nodes.ts'

/**
 * A successor may start this long before the node that it replaces ends, as in a roll-out of
 * containers, unless both were started together.
 */
const OVERLAP_MS = 2 * 60_000

/**
 * Returns the nodes that ended and have no successor, the last one at the end. A successor is a
 * node of the same role that started after the end, or shortly before it. A node of the same name
 * is one in any case, also once it has ended itself, and it succeeds no other one.
 */
export function findMissingNodes(
  running: readonly NodeState[],
  ended: readonly EndedNode[],
): EndedNode[] {
  const successors = running
    .filter(({ state, hasReturned }) => state !== 'gone' && !hasReturned)
    .toSorted((a, b) => a.since - b.since)
  // The start of a node deletes the row of the former one, unless that one still held customers.
  const isFollowed = ({ id, name, endedAt }: EndedNode) =>
    [...running, ...ended].some(
      (later) => later.id !== id && later.name === name && later.since >= endedAt,
    )
  const oldestFirst = ended
    .filter((node) => !isFollowed(node))
    .toSorted((a, b) => a.endedAt - b.endedAt)
  return oldestFirst.filter((node) => {
    const at = successors.findIndex((successor) => isSuccessor(successor, node))
    if (at >= 0) successors.splice(at, 1)
    return at < 0
  })
}

function isSuccessor({ role, since }: NodeState, node: EndedNode): boolean {
  if (role !== node.role) return false
  const isLater = since - node.since >= OVERLAP_MS
  return since > node.endedAt || (isLater && since >= node.endedAt - OVERLAP_MS)
}
