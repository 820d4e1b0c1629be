/** Compares the credentials and the scope that an operation requires. Pure. */
import {
  type DocumentOperation,
  isEqual,
  listOf,
  type Node,
  nodeOf,
  stableJson,
} from './document.ts'
import { additionFinding, breakFinding, type Finding } from './finding.ts'

/** Returns a comparison of two operations. A change that all operations share is one finding. */
export function securityComparison(
  old: Node,
  now: Node,
): (before: DocumentOperation, after: DocumentOperation) => Finding[] {
  const findingsBySecurity = new Map<string, Finding[]>()
  const findingsByScheme = schemeFindings(old, now)
  return (before, after) => {
    const oldSchemes = schemesOf(before.node.security ?? old.security)
    const newSchemes = schemesOf(after.node.security ?? now.security)
    const key = stableJson([oldSchemes, newSchemes])
    const findings = findingsBySecurity.get(key) ?? acceptedSchemeFindings(oldSchemes, newSchemes)
    findingsBySecurity.set(key, findings)
    return [
      ...findings,
      ...oldSchemes.flatMap((name) => findingsByScheme.get(name) ?? []),
      ...scopeFindings(before, after),
    ]
  }
}

/** Returns the alternatives. Each names one scheme, or none for unauthenticated callers. */
const schemesOf = (security: unknown): string[] =>
  listOf(security).map((alternative) => Object.keys(nodeOf(alternative)).join(' and '))

const nameOf = (scheme: string): string => scheme || 'no credential'

function acceptedSchemeFindings(before: readonly string[], after: readonly string[]): Finding[] {
  const removedSchemes = before.filter((name) => !after.includes(name) && !after.includes(''))
  const addedSchemes = after.filter((name) => !before.includes(name))
  const accepted = after.map(nameOf).join(' or ')
  return [
    ...removedSchemes.map((name) => {
      const sentence = `Requests with ${nameOf(name)} are rejected now; they need ${accepted}.`
      return breakFinding('#/security', sentence, [before.map(nameOf).join(' or '), accepted])
    }),
    ...addedSchemes.map((name) =>
      additionFinding('#/security', `Requests with ${nameOf(name)} are accepted too.`),
    ),
  ]
}

/** The members of a scheme that say how a client sends the credential. */
const TRANSPORT_MEMBERS = ['type', 'in', 'name', 'scheme']

function schemeFindings(old: Node, now: Node): Map<string, Finding[]> {
  const schemes = (document: Node) => nodeOf(nodeOf(document.components).securitySchemes)
  const findings = new Map<string, Finding[]>()
  for (const [name, scheme] of Object.entries(schemes(old))) {
    const [before, after] = [nodeOf(scheme), nodeOf(schemes(now)[name])]
    const changed = TRANSPORT_MEMBERS.filter((member) => !isEqual(before[member], after[member]))
    if (changed.length === 0) continue
    const where = `#/components/securitySchemes/${name}`
    const members = changed.join(', ')
    const sentence = `Clients must send the credential ${name} in another way (${members}).`
    findings.set(name, [breakFinding(where, sentence, [scheme, schemes(now)[name]])])
  }
  return findings
}

/** `x-scope` is the scope that a credential of any scheme needs. */
function scopeFindings(old: DocumentOperation, now: DocumentOperation): Finding[] {
  const [before, after] = [old.node['x-scope'], now.node['x-scope']]
  if (before === after) return []
  const where = `${now.where}/x-scope`
  if (after === undefined) return [additionFinding(where, `${now.name} needs no scope any more.`)]
  const instead = before === undefined ? '' : ` instead of ${before}`
  const sentence = `${now.name} needs the scope ${after}${instead}: existing credentials lack it.`
  return [breakFinding(where, sentence, [before, after])]
}
