/** Who may call an operation: credentials, scopes, how they are sent. Pure. */
import { isEqual, listOf, type Node, nodeOf, type Operation, resolved, stable } from './document.ts'
import { added, broken, type Finding } from './finding.ts'

type Way = Readonly<Record<string, readonly string[]>>

/** Compares two operations; what holds for all of them is told as one finding. */
export function securityFindings(
  old: Node,
  now: Node,
): (one: Operation, other: Operation) => Finding[] {
  const known = new Map<string, Finding[]>()
  const schemes = schemeFindings(old, now)
  return (one, other) => {
    const before = one.node.security ?? old.security
    const after = other.node.security ?? now.security
    const key = stable([before, after])
    if (!known.has(key)) known.set(key, wayFindings(waysOf(before), waysOf(after)))
    const used = waysOf(before).flatMap(Object.keys)
    return [
      ...known.get(key)!,
      ...used.flatMap((name) => schemes.get(name) ?? []),
      ...scopeFindings(one, other),
    ]
  }
}

/** Alternatives; none at all is the same as one that asks for nothing. */
function waysOf(security: unknown): Way[] {
  const ways = listOf(security).map((one) => nodeOf(one) as Way)
  return ways.length === 0 ? [{}] : ways
}

/** Whoever can do `one` can do `other`. */
const suffices = (one: Way, other: Way): boolean =>
  Object.entries(other).every(([name, scopes]) => {
    const had = one[name]
    return had !== undefined && scopes.every((scope) => had.includes(scope))
  })

const shown = (way: Way): string =>
  Object.entries(way)
    .map(([name, scopes]) => (scopes.length > 0 ? `${name} with ${scopes.join(', ')}` : name))
    .join(' and ') || 'no credential'

function wayFindings(before: readonly Way[], after: readonly Way[]): Finding[] {
  const lost = before.filter((old) => !after.some((now) => suffices(old, now)))
  const fresh = after.filter((now) => !before.some((old) => suffices(now, old)))
  return [
    ...lost.map((way) =>
      broken(
        '#/security',
        `Calls with ${shown(way)} are not enough any more; now it takes ` +
          `${after.map(shown).join(' or ')}.`,
      ),
    ),
    ...fresh.map((way) => added('#/security', `Calls with ${shown(way)} are taken too.`)),
  ]
}

/** How a credential is sent. */
const sent = ['type', 'in', 'name', 'scheme', 'openIdConnectUrl', 'flows']

function schemeFindings(old: Node, now: Node): Map<string, Finding[]> {
  const of = (document: Node, name: string) =>
    resolved(document, nodeOf(nodeOf(document.components).securitySchemes)[name])
  const names = Object.keys(nodeOf(nodeOf(old.components).securitySchemes))
  const findings = new Map<string, Finding[]>()
  for (const name of names) {
    const [before, after] = [of(old, name), of(now, name)]
    const changed = sent.filter((word) => !grows(word, before[word], after[word]))
    if (changed.length === 0) continue
    const where = `#/components/securitySchemes/${name}`
    const sentence = `The credential ${name} is sent in another way now (${changed.join(', ')}).`
    findings.set(name, [broken(where, sentence)])
  }
  return findings
}

/** Flows and their scopes may be added; everything else stays. */
function grows(word: string, before: unknown, after: unknown): boolean {
  if (word !== 'flows') {
    return isEqual(word === 'name' ? lower(before) : before, word === 'name' ? lower(after) : after)
  }
  return Object.entries(nodeOf(before)).every(([flow, value]) => {
    const { scopes: olds, ...old } = nodeOf(value)
    const { scopes: news, ...now } = nodeOf(nodeOf(after)[flow])
    const kept = Object.keys(nodeOf(olds)).every((scope) => Object.hasOwn(nodeOf(news), scope))
    return kept && isEqual(old, now)
  })
}

const lower = (name: unknown): unknown => (typeof name === 'string' ? name.toLowerCase() : name)

/** `x-scope`: the scope a credential needs, however it was proved. */
function scopeFindings(one: Operation, other: Operation): Finding[] {
  const [before, after] = [one.node['x-scope'], other.node['x-scope']]
  if (before === after) return []
  const where = `${other.where}/x-scope`
  if (after === undefined) return [added(where, `${other.name} needs no scope any more.`)]
  const instead = before === undefined ? '' : ` instead of ${before}`
  return [broken(where, `${other.name} needs the scope ${after}${instead}: credentials lack it.`)]
}
