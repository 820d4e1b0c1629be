/** Deprecation notices in responses: headers and `_warnings` (§8.6). Pure. */

export interface DeprecationNotice {
  /** The version of the request, for example `v1`. */
  readonly version: string
  /** The start of the deprecation (RFC 9745). */
  readonly deprecatedAt: Date | undefined
  /** When the version retires (RFC 8594); undefined if not announced. */
  readonly sunset: Date | undefined
  readonly message: string
  /** URL of the migration guide. */
  readonly link: string | undefined
}

interface Warning {
  readonly type?: unknown
  readonly message?: unknown
  readonly sunset?: unknown
  readonly migration_guide?: unknown
}

/** Returns the notice of a response; undefined without one. */
export function deprecationOf(
  headers: Headers,
  body: unknown,
  requestedVersion: string | undefined,
): DeprecationNotice | undefined {
  const warning = warningOf(body)
  const since = headers.get('deprecation')
  if (since === null && !warning) return undefined
  const version = headers.get('x-api-version') ?? requestedVersion ?? 'unknown'
  const sunset = dateOf(headers.get('sunset') ?? warning?.sunset)
  const ends = sunset ? ` and ends on ${sunset.toISOString().slice(0, 10)}` : ''
  return {
    version,
    deprecatedAt: since?.startsWith('@') ? dateOf(Number(since.slice(1)) * 1000) : undefined,
    sunset,
    message: textOf(warning?.message) ?? `API version ${version} is deprecated${ends}.`,
    link: linkOf(headers.get('link'), 'deprecation') ?? textOf(warning?.migration_guide),
  }
}

function warningOf(body: unknown): Warning | undefined {
  const list = (body as { _warnings?: unknown } | null | undefined)?._warnings
  if (!Array.isArray(list)) return undefined
  return (list as (Warning | null)[]).find((item) => item?.type === 'deprecation') ?? undefined
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined)

function dateOf(value: unknown): Date | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const date = new Date(value)
  return Number.isNaN(date.getTime()) ? undefined : date
}

/** Returns the target of a relation in a `Link` header (RFC 8288). */
function linkOf(header: string | null, rel: string): string | undefined {
  for (const [, target, rest] of (header ?? '').matchAll(/<([^>]*)>([^<]*)/g)) {
    const relations = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,]+))/i.exec(rest!)
    if ((relations?.[1] ?? relations?.[2] ?? '').split(/\s+/).includes(rel)) return target
  }
  return undefined
}
