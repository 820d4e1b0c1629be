/** Reads an OpenAPI 3.1 document as `declare/resources/openapi.ts` generates it. Pure. */
import { escapePointer } from '../../protocol/fields/reading.ts'

export type Node = Readonly<Record<string, unknown>>

export const nodeOf = (value: unknown): Node =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Node) : {}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Serializes a value with the members of its objects in alphabetical order. */
export const stableJson = (value: unknown): string =>
  JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  ) ?? 'undefined'

export const isEqual = (left: unknown, right: unknown): boolean =>
  stableJson(left) === stableJson(right)

/**
 * Returns the node itself, or the component that its `$ref` names. Components never refer to other
 * components. Throws an `Error` for any other reference.
 */
export function resolveRef(document: Node, value: unknown): Node {
  const node = nodeOf(value)
  if (typeof node.$ref !== 'string') return node
  const [root, section, kind, name, ...rest] = node.$ref.split('/')
  const component = nodeOf(nodeOf(document[section!])[kind!])[name!]
  if (root !== '#' || rest.length > 0 || component === undefined || nodeOf(component).$ref) {
    throw new Error(`${node.$ref} is not a component of the document`)
  }
  return nodeOf(component)
}

/** Returns the name of the component that a value refers to: `User`. */
export const componentName = (value: unknown): string | undefined => {
  const { $ref } = nodeOf(value)
  return typeof $ref === 'string' ? $ref.split('/').at(-1) : undefined
}

export interface DocumentOperation {
  /** `GET /users/{id}`. */
  readonly name: string
  readonly path: string
  /** JSON pointer. */
  readonly where: string
  readonly document: Node
  readonly node: Node
  /** Parameters of the path and of the operation, references resolved. */
  readonly parameters: readonly Node[]
  /** Names of the path parameters, in order. */
  readonly pathNames: readonly string[]
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/** Returns the operations by method and path. The names of path parameters do not count. */
export function operationsOf(document: Node): Map<string, DocumentOperation> {
  const operations = new Map<string, DocumentOperation>()
  for (const [path, value] of Object.entries(nodeOf(document.paths))) {
    const item = nodeOf(value)
    for (const method of METHODS.filter((name) => item[name] !== undefined)) {
      const node = nodeOf(item[method])
      operations.set(`${method} ${path.replace(/\{[^}]*\}/g, '{}')}`, {
        name: `${method.toUpperCase()} ${path}`,
        path,
        where: `#/paths/${escapePointer(path)}/${method}`,
        document,
        node,
        parameters: [...listOf(item.parameters), ...listOf(node.parameters)].map((parameter) =>
          resolveRef(document, parameter),
        ),
        pathNames: [...path.matchAll(/\{([^}]*)\}/g)].map((match) => match[1]!),
      })
    }
  }
  return operations
}
