/** Leaves out nodes that have ended, and have a successor. Pure. */

interface ListedNode {
  /** Its start; epoch milliseconds. */
  readonly since: number
  /** Its last sign of life. */
  readonly seenAt: number
  readonly identities: readonly string[]
}

/**
 * Returns the nodes except those in whose place another one has started since their last report: of
 * the same configured name, or at the same host and port. A node succeeds one at most.
 */
export function withoutSucceeded<Node extends ListedNode>(nodes: readonly Node[]): Node[] {
  const successors = nodes.toSorted((a, b) => a.since - b.since)
  const succeeded = new Set<Node>()
  for (const node of nodes.toSorted((a, b) => a.seenAt - b.seenAt)) {
    const at = successors.findIndex(({ since, identities }) => {
      return since > node.seenAt && identities.some((name) => node.identities.includes(name))
    })
    if (at < 0) continue
    successors.splice(at, 1)
    succeeded.add(node)
  }
  return nodes.filter((node) => !succeeded.has(node))
}
