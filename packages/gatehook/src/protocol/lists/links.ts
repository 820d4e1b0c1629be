/**
 * Links of a page (§7.8): paths for bodies and absolute URLs for the `Link` header. Pure.
 */
import type { ListRequest } from './grammar.ts'

export type Rel = 'self' | 'first' | 'prev' | 'next' | 'last'

/** The query of an existing page: `page=3&per_page=20`. */
export type Position = readonly [rel: Rel, query: string]

/** Returns path and query of each page, with filters, sort and fields and without credentials. */
export function pagePaths(
  path: string,
  request: ListRequest,
  positions: readonly Position[],
): (readonly [Rel, string])[] {
  let lead = `${path}?`
  for (const [name, value] of request.linkParameters) {
    lead += `${encodeURIComponent(name)}=${encodeURIComponent(value)}&`
  }
  return positions.map(([rel, query]) => [rel, lead + query])
}

/** Length of the `Link` header. Node's client and many proxies accept 16 KiB of headers. */
const LINK_CHARACTERS_MAX = 12_288
/** The order in which links are dropped when long filters exceed the limit. */
const DISPENSABLE: readonly Rel[] = ['last', 'first', 'prev', 'next']

/** Returns the `Link` header (RFC 8288) with absolute URLs and without `self`. */
export function linkHeader(base: string, links: readonly (readonly [Rel, string])[]): string {
  let header = ''
  for (const [rel, path] of links) {
    if (rel !== 'self') header += `${header === '' ? '' : ', '}<${base}${path}>; rel="${rel}"`
  }
  if (header.length <= LINK_CHARACTERS_MAX) return header
  const droppedRel = DISPENSABLE.find((candidate) => links.some(([rel]) => rel === candidate))
  return linkHeader(
    base,
    links.filter(([rel]) => rel !== droppedRel),
  )
}
