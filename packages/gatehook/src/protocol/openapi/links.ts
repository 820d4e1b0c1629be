/** The links between operations of an OpenAPI document: from a row to its operations. Pure. */
import type { JsonSchema } from '../fields/json-schema.ts'
import { objectOf, operationsIn, schemaNameOf, type VisitedOperation } from './schema-walk.ts'

/** Links a created row to the operations on it, and a page to the next one. In place. */
export function addLinks(document: JsonSchema): void {
  const operations = operationsIn(document.paths)
  const byPath = Map.groupBy(operations, ({ path }) => path)
  const schemas = objectOf(objectOf(document.components).schemas)
  const membersOf = (value: unknown): JsonSchema => {
    const schema = objectOf(value)
    const named = schemaNameOf(schema)
    return objectOf((named === undefined ? schema : objectOf(schemas[named])).properties)
  }
  for (const { method, path, operation } of operations) {
    const success = successOf(operation)
    const schema = objectOf(objectOf(objectOf(success?.content)['application/json']).schema)
    if (!success || Object.keys(schema).length === 0) continue
    const links: JsonSchema = {}
    if (method === 'post') {
      for (const [itemPath, name] of itemsOf(path, [...byPath.keys()])) {
        if (membersOf(schema)[name] === undefined) continue
        for (const target of byPath.get(itemPath)!) Object.assign(links, linkTo(target, name))
      }
    }
    if (isPage(operation)) links.next = nextLink(operation)
    if (Object.keys(links).length > 0) success.links = { ...objectOf(success.links), ...links }
  }
}

const successOf = (operation: JsonSchema): JsonSchema | undefined => {
  const entry = Object.entries(objectOf(operation.responses)).find(([key]) => /^2/.test(key))
  return entry && objectOf(entry[1])
}

/** Returns the paths of one item of a collection, each with the name of its parameter. */
const itemsOf = (path: string, paths: readonly string[]): [path: string, name: string][] =>
  paths.flatMap((other) => {
    const name =
      other.startsWith(`${path}/`) && /^\{(\w+)\}$/.exec(other.slice(path.length + 1))?.[1]
    return name ? [[other, name]] : []
  })

const linkTo = ({ operation }: VisitedOperation, name: string): JsonSchema => ({
  [String(operation.operationId)]: {
    operationId: operation.operationId,
    description: `${String(operation.summary)}: the row in this response.`,
    parameters: { [name]: `$response.body#/${name}` },
  },
})

const isPage = ({ parameters }: JsonSchema): boolean =>
  JSON.stringify(parameters ?? []).includes('"#/components/parameters/Cursor"')

const nextLink = ({ operationId }: JsonSchema): JsonSchema => ({
  operationId,
  description: 'The next page, with the same sort and filters.',
  parameters: { cursor: '$response.body#/next_cursor' },
})
