/** Redirects paths of pages that end with a slash to the path without it. Pure. */
import type { Answer, Call, Endpoint, Kind } from './call.ts'

/** The kinds of path that people type. For programs, a path with another slash is another path. */
const PAGE_KINDS: readonly Kind[] = ['page', 'public']

/** Returns the endpoint of the path with a slash; undefined for paths of programs. */
export const withTrailingSlash = (endpoint: Endpoint): Endpoint | undefined =>
  PAGE_KINDS.includes(endpoint.kind) && endpoint.methods.GET
    ? { ...endpoint, methods: { GET: { authenticated: false, handle: redirect } } }
    : undefined

function redirect({ path, query }: Call): Answer {
  const search = query.entries.length === 0 ? '' : `?${searchOf(query.entries)}`
  const location = path.slice(0, -1) + search
  return { status: 308, raw: '', headers: { location, 'cache-control': 'no-store' } }
}

const searchOf = (entries: Call['query']['entries']): string =>
  new URLSearchParams(entries.map(([name, value]) => [name, value])).toString()
