/**
 * Compares two OpenAPI documents of one version, and classifies each change: does a caller of the
 * older document still work? Pure. `operation-diff.ts` compares operations, `schema-diff.ts`
 * schemas, `security-diff.ts` credentials and scopes.
 */
import { OWN_FAILURES } from '../../protocol/openapi/problem-responses.ts'
import { type Node, nodeOf, operationsOf } from './document.ts'
import { additionFinding, breakFinding, type Finding, type OperationFinding } from './finding.ts'
import {
  bodyFindings,
  exportFindings,
  parameterFindings,
  responseFindings,
} from './operation-diff.ts'
import { type CompareSchemas, schemaComparison } from './schema-diff.ts'
import { securityComparison } from './security-diff.ts'

/** Compares the failures that the service declares: callers decide by code and details. */
function failureFindings(old: Node, now: Node, compareSchemas: CompareSchemas): Finding[] {
  const [before, after] = [nodeOf(old[OWN_FAILURES]), nodeOf(now[OWN_FAILURES])]
  return Object.keys(before).flatMap((code) => {
    const [earlier, later] = [nodeOf(before[code]), nodeOf(after[code])]
    const where = `#/${OWN_FAILURES}/${code}`
    if (!Object.hasOwn(after, code))
      return [additionFinding(where, `${code} is no longer returned.`)]
    const change = [earlier.status, later.status].map(String) as [string, string]
    const status =
      change[0] === change[1] ? [] : [breakFinding(where, `${code} has a new status.`, change)]
    const location = {
      direction: 'response',
      name: `the details of ${code}`,
      path: '',
      where,
    } as const
    const [had, has] = [earlier, later].map((words) => nodeOf(words.properties).details ?? {})
    return [...status, ...compareSchemas(had, has, location)]
  })
}

/** Returns every change, breaks first. */
export function diffDocuments(old: Node, now: Node): OperationFinding[] {
  const [before, after] = [operationsOf(old), operationsOf(now)]
  const compareSchemas = schemaComparison(old, now)
  const compareSecurity = securityComparison(old, now)
  const operationsByFinding = new Map<Finding, Set<string>>()
  const report = (operation: string, findings: readonly Finding[]) => {
    for (const finding of findings) {
      const operations = operationsByFinding.get(finding) ?? new Set()
      operationsByFinding.set(finding, operations.add(operation))
    }
  }
  report('x-failures', failureFindings(old, now, compareSchemas))
  for (const [key, operation] of before) {
    const { name, where } = operation
    const other = after.get(key)
    if (other) {
      report(other.name, [
        ...compareSecurity(operation, other),
        ...parameterFindings(compareSchemas, operation, other),
        ...bodyFindings(compareSchemas, operation, other),
        ...responseFindings(compareSchemas, operation, other),
        ...exportFindings(operation, other),
      ])
    } else report(name, [breakFinding(where, `${name} is removed.`, [name, undefined])])
  }
  for (const [key, { name, where }] of after) {
    if (!before.has(key)) report(name, [additionFinding(where, `${name} is new.`)])
  }
  return [...operationsByFinding]
    .map(([finding, operations]) => ({ ...finding, operations: [...operations] }))
    .sort((left, right) => Number(right.breaking) - Number(left.breaking))
}
