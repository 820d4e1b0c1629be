/** Headers in whatever shape a runtime has them, looked up without regard to case. */

/**
 * A `Headers`, a `Map`, pairs, Node's `rawHeaders` (name, value, name, value, …) or a plain object
 * whose values may be lists.
 */
export type HeadersLike =
  | Iterable<readonly [string, string]>
  | readonly string[]
  | Readonly<Record<string, string | number | readonly string[] | undefined>>

/**
 * The value of a header; undefined when it is absent. A header sent twice is joined by a comma, as
 * `Headers` does it, so that a repeated signature is seen as one that is not well formed.
 */
export function header(headers: HeadersLike, name: string): string | undefined {
  const wanted = name.toLowerCase()
  const values: string[] = []
  for (const [key, value] of entries(headers)) {
    if (typeof key !== 'string' || key.toLowerCase() !== wanted) continue
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
