/**
 * Compares two OpenAPI documents of one version, and classifies each change: does a caller of the
 * older document still work? Pure. `operation-diff.ts` compares operations, `schema-diff.ts`
 * schemas, `security-diff.ts` credentials and scopes.
 */
import { type Node, operationsOf } from './document.ts'
import { additionFinding, breakFinding, type Finding, type OperationFinding } from './finding.ts'
import {
  bodyFindings,
  exportFindings,
  parameterFindings,
  responseFindings,
} from './operation-diff.ts'
import { schemaComparison } from './schema-diff.ts'
import { securityComparison } from './security-diff.ts'

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
