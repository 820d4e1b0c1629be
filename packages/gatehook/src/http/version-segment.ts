/**
 * Takes a version segment out of `/api/<segment>/…`, so that every path is registered once, without
 * one (§8.1). Whether the segment names a version that exists is judged in `versions/`. Pure.
 */

const PREFIX = '/api/'

/** What somebody writes who means a version: `v1`, `V1`, `v01`, `v1.2.3`, `2`, a date, `latest`. */
const ATTEMPT = /^(?:v[\d.]|\d|latest$|stable$)/i

export interface SplitPath {
  /** The path the router sees. */
  readonly path: string
  /** The segment as it was sent, still percent-encoded; undefined where there was none. */
  readonly segment: string | undefined
}

/**
 * `/api/v1/orders` → `/api/orders` and `v1`. `roots` are the first segments of the paths declared
 * under `/api`: they are never versions. Anything else is left as it is, and no route will match
 * it. An escaped segment (`%761`) is not decoded: it is neither a root nor a version, so it stays a
 * 404.
 */
export function split(path: string, roots: ReadonlySet<string>): SplitPath {
  if (!path.startsWith(PREFIX)) return { path, segment: undefined }
  const slash = path.indexOf('/', PREFIX.length)
  const first = path.slice(PREFIX.length, slash < 0 ? undefined : slash)
  if (roots.has(first) || !ATTEMPT.test(first)) return { path, segment: undefined }
  return { path: slash < 0 ? '/api' : `/api${path.slice(slash)}`, segment: first }
}
