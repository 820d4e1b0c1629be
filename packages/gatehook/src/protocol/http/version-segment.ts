/**
 * Splits the version segment off `/api/<segment>/…`, so that every path is registered once, without
 * a version (§8.1). `declare/versions/` checks whether the version exists. Pure.
 */

const PREFIX = '/api/'
/** Operators reach a customer's paths below this prefix: `/admin/as/cus_1/live/api/v2/orders`. */
const ACTING = '/admin/as/'
const ACTING_PREFIX = /^\/admin\/as\/[^/]+\/[^/]+(?=\/api\/)/

/** A segment that is meant as a version: `v1`, `V1`, `v01`, `v1.2.3`, `2`, a date, `latest`. */
const VERSION_LIKE = /^(?:v[\d.]|\d|latest$|stable$)/i

interface SplitPath {
  /** The path for the router. */
  readonly path: string
  /** The segment as sent, still percent-encoded; undefined without one. */
  readonly segment: string | undefined
}

/**
 * Splits `/api/v1/orders` into `/api/orders` and `v1`. Other paths stay as they are.
 *
 * An escaped segment (`%761`) is not decoded: it is neither a root nor a version, so its path is a
 * 404.
 *
 * @param roots The first segments of the paths declared under `/api`, which are never versions.
 */
export function splitVersionSegment(path: string, roots: ReadonlySet<string>): SplitPath {
  if (path.startsWith(ACTING)) {
    const prefix = ACTING_PREFIX.exec(path)?.[0]
    if (prefix === undefined) return { path, segment: undefined }
    const split = splitVersionSegment(path.slice(prefix.length), roots)
    return { path: prefix + split.path, segment: split.segment }
  }
  if (!path.startsWith(PREFIX)) return { path, segment: undefined }
  const slash = path.indexOf('/', PREFIX.length)
  const first = path.slice(PREFIX.length, slash < 0 ? undefined : slash)
  if (roots.has(first) || !VERSION_LIKE.test(first)) return { path, segment: undefined }
  return { path: slash < 0 ? '/api' : `/api${path.slice(slash)}`, segment: first }
}
