/** Leaves out nodes that have ended, and have a successor. Pure. */

interface ListedNode {
  /** Its start; epoch milliseconds. */
  readonly since: number
  /** Its last sign of life. */
  readonly seenAt: number
  /** Undefined for a node of an earlier build. */
  readonly identities?: readonly string[] | undefined
}

/** Whether two processes are of the same configured name, or at the same host and port. */
export const sharesIdentity = (
  { identities = [] }: Pick<ListedNode, 'identities'>,
  other: Pick<ListedNode, 'identities'>,
): boolean => identities.some((name) => other.identities?.includes(name))

/**
 * Returns the nodes except those in whose place another one has started since their last report: of
 * the same configured name, or at the same host and port. A node succeeds one at most.
 */
export function withoutSucceeded<Node extends ListedNode>(nodes: readonly Node[]): Node[] {
  const successors = nodes.toSorted((a, b) => a.since - b.since)
  const succeeded = new Set<Node>()
  for (const node of nodes.toSorted((a, b) => a.seenAt - b.seenAt)) {
    const at = successors.findIndex(
      (other) => other.since > node.seenAt && sharesIdentity(other, node),
    )
    if (at < 0) continue
    successors.splice(at, 1)
    succeeded.add(node)
  }
  return nodes.filter((node) => !succeeded.has(node))
}
