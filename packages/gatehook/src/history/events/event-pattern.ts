/**
 * Patterns of event types: `order.paid`, `order.*`, `*` (§9.1). Registrations, the outbox and the
 * stream share them. Pure.
 */

const matchesPattern = (pattern: string, type: string): boolean =>
  pattern === '*' ||
  pattern === type ||
  (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1)))

/** Whether one of the patterns matches a type. */
export const matchesAny = (patterns: readonly string[], type: string): boolean =>
  patterns.some((pattern) => matchesPattern(pattern, type))

/** Returns every pattern that matches a type: the type itself, its families, `*`. */
export function patternsOfType(type: string): string[] {
  const patterns = [type]
  for (let dot = type.lastIndexOf('.'); dot > 0; dot = type.lastIndexOf('.', dot - 1)) {
    patterns.push(`${type.slice(0, dot)}.*`)
  }
  patterns.push('*')
  return patterns
}

/** Returns every pattern that matches at least one of the types; `*` always. */
export const patternsOfTypes = (types: Iterable<string>): Set<string> =>
  new Set(['*', ...[...types].flatMap(patternsOfType)])

/** Removes each pattern that another one covers, so that a type matches at most one. */
export function withoutCovered(patterns: readonly string[]): string[] {
  const all = new Set(patterns)
  return [...all].filter((pattern) => {
    const prefix = pattern.endsWith('.*') ? pattern.slice(0, -2) : pattern
    return !patternsOfType(prefix).some(
      (other) => other !== pattern && other !== prefix && all.has(other),
    )
  })
}
