/**
 * Which event types are meant: `order.paid`, `order.*`, `*` (§9.1). Pure; used alike by
 * registrations, the outbox and the stream.
 */

/** Whether a pattern means a type. */
export const matches = (pattern: string, type: string): boolean =>
  pattern === '*' ||
  pattern === type ||
  (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1)))

export const matchesAny = (patterns: readonly string[], type: string): boolean =>
  patterns.some((pattern) => matches(pattern, type))

/** Every pattern that means at least one of these types. */
export function patternsOf(types: Iterable<string>): Set<string> {
  const patterns = new Set(['*'])
  for (const type of types) {
    patterns.add(type)
    for (let dot = type.indexOf('.'); dot >= 0; dot = type.indexOf('.', dot + 1)) {
      patterns.add(`${type.slice(0, dot)}.*`)
    }
  }
  return patterns
}
