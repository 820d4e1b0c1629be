/** Links of a page: the same position as path (bodies) and absolute URL (`Link` header) (§7.8). Pure. */
import type { ListRequest } from './grammar.ts'

export type Rel = 'self' | 'first' | 'prev' | 'next' | 'last'

/** Query parameters of each page that exists, in the order they are shown. */
export type Positions = readonly (readonly [
  rel: Rel,
  position: readonly (readonly [string, string])[],
])[]

const encode = ([name, value]: readonly [string, string]): string =>
  `${encodeURIComponent(name)}=${encodeURIComponent(value)}`

/** Path and query of each page. Filters, sort and fields are repeated, credentials never. */
export function pagePaths(
  path: string,
  request: ListRequest,
  positions: Positions,
): Map<Rel, string> {
  const kept = request.kept.map(encode).join('&')
  const links = new Map<Rel, string>()
  for (const [rel, position] of positions) {
    const own = position.map(encode).join('&')
    const query = kept && own ? `${kept}&${own}` : kept || own
    links.set(rel, query ? `${path}?${query}` : path)
  }
  return links
}

/** RFC 8288 `Link`, absolute from the public URL; `self` is not a header's business. */
export function linkHeader(base: string, links: ReadonlyMap<Rel, string>): string {
  const parts: string[] = []
  for (const [rel, path] of links) {
    if (rel !== 'self') parts.push(`<${base}${path}>; rel="${rel}"`)
  }
  return parts.join(', ')
}
