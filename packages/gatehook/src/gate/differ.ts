/**
 * What changed between two OpenAPI 3.1 documents, each change judged: does a caller who worked
 * with the older one still work? Pure; paths and operations here, what they carry in `carried.ts`,
 * schemas in `schemas.ts`.
 */
import { bodyFindings, parameterFindings, responseFindings } from './carried.ts'
import { listOf, type Node, nodeOf, type Operation, resolved } from './document.ts'
import { added, broken, type Finding, segment, type Told } from './finding.ts'
import { type CompareSchemas, schemaComparison } from './schemas.ts'
import { securityFindings } from './security.ts'

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options', 'trace']

/** Every change, breaks first. */
export function diffDocuments(old: Node, now: Node): Told[] {
  const [before, after] = [operationsOf(old), operationsOf(now)]
  const schemas = schemaComparison(old, now)
  const security = securityFindings(old, now)
  const told = new Map<Finding, Set<string>>()
  const tell = (operation: string, findings: readonly Finding[]) => {
    for (const finding of findings) {
      if (!told.has(finding)) told.set(finding, new Set())
      told.get(finding)!.add(operation)
    }
  }
  for (const [key, one] of before) {
    const other = after.get(key)
    if (!other) tell(one.name, [broken(one.where, `${one.name} is gone.`)])
    else {
      tell(other.name, security(one, other))
      tell(other.name, operationFindings(schemas, one, other))
    }
  }
  for (const [key, one] of after) {
    if (!before.has(key)) tell(one.name, [added(one.where, `${one.name} is new.`)])
  }
  return [...told]
    .map(([finding, operations]) => ({ ...finding, operations: [...operations] }))
    .sort((one, other) => Number(other.breaking) - Number(one.breaking))
}

function operationFindings(schemas: CompareSchemas, old: Operation, now: Operation): Finding[] {
  return [
    ...parameterFindings(schemas, old, now),
    ...bodyFindings(schemas, old, now),
    ...responseFindings(schemas, old, now),
  ]
}

/** Operations by method and path; how the path's parameters are called does not matter. */
function operationsOf(document: Node): Map<string, Operation> {
  const all = new Map<string, Operation>()
  const add = (from: string, path: string, value: unknown) => {
    const item = resolved(document, value)
    for (const method of METHODS.filter((one) => item[one] !== undefined)) {
      const node = nodeOf(item[method])
      const shared = listOf(item.parameters).map((one) => resolved(document, one))
      const own = listOf(node.parameters).map((one) => resolved(document, one))
      const overridden = (one: Node) => own.some((mine) => sameParameter(mine, one))
      const named = from === 'webhooks' ? `webhook ${path}` : path
      all.set(`${from} ${method} ${path.replace(/\{[^}]*\}/g, '{}')}`, {
        name: `${method.toUpperCase()} ${named}`,
        where: `#/${from}/${segment(path)}/${method}`,
        document,
        node,
        parameters: [...shared.filter((one) => !overridden(one)), ...own],
        inPath: [...path.matchAll(/\{([^}]*)\}/g)].map((match) => match[1]!),
      })
    }
  }
  for (const from of ['paths', 'webhooks']) {
    for (const [path, item] of Object.entries(nodeOf(document[from]))) add(from, path, item)
  }
  return all
}

const sameParameter = (one: Node, other: Node): boolean =>
  one.in === other.in && one.name === other.name
