/**
 * Links of a page: the same position as path (bodies) and absolute URL (`Link` header) (§7.8).
 * Pure.
 */
import type { ListRequest } from './grammar.ts'

export type Rel = 'self' | 'first' | 'prev' | 'next' | 'last'

/** Where a page that exists lies, as a query: `page=3&per_page=20`. */
export type Position = readonly [rel: Rel, query: string]

/** Path and query of each page. Filters, sort and fields are repeated, credentials never. */
export function pagePaths(
  path: string,
  request: ListRequest,
  positions: readonly Position[],
): (readonly [Rel, string])[] {
  let lead = `${path}?`
  for (const [name, value] of request.kept) {
    lead += `${encodeURIComponent(name)}=${encodeURIComponent(value)}&`
  }
  return positions.map(([rel, query]) => [rel, lead + query])
}

/** Of 16 KiB of headers, which is what Node's client reads and many a proxy lets through. */
const MAX_LINK = 12_288
/** What is given up first where filters are so long that not all fit. */
const DISPENSABLE: readonly Rel[] = ['last', 'first', 'prev', 'next']

/** RFC 8288 `Link`, absolute from the public URL; `self` is not a header's business. */
export function linkHeader(base: string, links: readonly (readonly [Rel, string])[]): string {
  let out = ''
  for (const [rel, path] of links) {
    if (rel !== 'self') out += `${out === '' ? '' : ', '}<${base}${path}>; rel="${rel}"`
  }
  if (out.length <= MAX_LINK) return out
  const least = DISPENSABLE.find((one) => links.some(([rel]) => rel === one))
  return linkHeader(
    base,
    links.filter(([rel]) => rel !== least),
  )
}
