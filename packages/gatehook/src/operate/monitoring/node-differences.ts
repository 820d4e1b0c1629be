/** Compares the options and declarations of nodes that run. Pure. */
import { defaultOfVariable } from '../../platform/config/describe.ts'
import type { NodeState } from './nodes.ts'

/** An option, or a part of the declaration, that nodes have differently. */
export interface NodeDifference {
  readonly kind: 'option' | 'declaration'
  /** A variable; a resource, or `service` for all else of the declaration. */
  readonly name: string
  /** Names of nodes by value. A value is null if it is secret, a digest for a declaration. */
  readonly values: readonly { readonly value: string | null; readonly nodes: readonly string[] }[]
  /** Columns of the resource that some of the nodes lack, or use as another type. */
  readonly columns: readonly string[]
}

/** Returns what differs between nodes that run. */
export function findDifferences(nodes: readonly NodeState[]): NodeDifference[] {
  const [first, ...others] = nodes.filter(({ state }) => state !== 'gone')
  if (!first) return []
  const running = [first, ...others]
  // Digests of different keys say nothing.
  const comparable = running.filter(({ secrets }) => secrets.keyId === first.secrets.keyId)
  const secret = groupByValue(comparable, ({ secrets }) => secrets.digests)
  return [
    ...groupByValue(running, ({ options }) => options, defaultOfVariable).map(option),
    ...secret.map(option).map(withoutValues),
    ...groupByValue(running, ({ declaration }) => declaration).map(
      ({ name, values }): NodeDifference => ({
        kind: 'declaration',
        name,
        values,
        columns: groupByValue(running, ({ columns }) => columns[name] ?? {}).map(
          ({ name: column }) => column,
        ),
      }),
    ),
  ]
}

type DifferentValues = Pick<NodeDifference, 'name' | 'values'>

const option = ({ name, values }: DifferentValues): NodeDifference => ({
  kind: 'option',
  name,
  values,
  columns: [],
})

const withoutValues = (difference: NodeDifference): NodeDifference => ({
  ...difference,
  values: difference.values.map(({ nodes }) => ({ value: null, nodes })),
})

/** The value of an option without a default, and of a part that a node does not declare. */
const ABSENT = 'none'

/** Returns the names whose values differ. */
function groupByValue(
  nodes: readonly NodeState[],
  read: (node: NodeState) => Readonly<Record<string, string>>,
  defaultOf: (name: string) => string | null = () => null,
): DifferentValues[] {
  const names = new Set(nodes.flatMap((node) => Object.keys(read(node))))
  return [...names].sort().flatMap((name) => {
    const groups = Map.groupBy(nodes, (node) => (read(node)[name] ?? defaultOf(name)) || ABSENT)
    if (groups.size < 2) return []
    const values = [...groups].map(([value, members]) => ({
      value,
      nodes: members.map((node) => node.name).sort(),
    }))
    return [{ name, values }]
  })
}
