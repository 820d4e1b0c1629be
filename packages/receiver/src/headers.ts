/** Finds headers in the shapes of all runtimes, in any case. */

/**
 * A `Headers`, a `Map`, pairs, Node's `rawHeaders` (names and values in turn), or an object whose
 * values may be lists.
 */
export type HeadersLike =
  | Iterable<readonly [string, string]>
  | readonly string[]
  | Readonly<Record<string, string | number | readonly string[] | undefined>>

/**
 * Returns the value of a header, if present. Repeated headers are joined by a comma, as in
 * `Headers`, so that a repeated signature is malformed.
 */
export function findHeader(headers: HeadersLike, name: string): string | undefined {
  const lowerName = name.toLowerCase()
  const values: string[] = []
  for (const [key, value] of entries(headers)) {
    if (typeof key !== 'string' || key.toLowerCase() !== lowerName) continue
    if (value === undefined || value === null) continue
    values.push(...(Array.isArray(value) ? value : [value]).map(String))
  }
  return values.length === 0 ? undefined : values.join(', ')
}

function entries(headers: HeadersLike): (readonly [unknown, unknown])[] {
  if (!(Symbol.iterator in headers)) return Object.entries(headers)
  const items: readonly unknown[] = [...headers]
  if (typeof items[0] !== 'string') return items as (readonly [unknown, unknown])[]
  return items.flatMap((name, at) => (at % 2 === 0 ? [[name, items[at + 1]] as const] : []))
}
