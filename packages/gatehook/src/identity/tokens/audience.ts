/**
 * The audience of access tokens (RFC 8707, §16.2): which resources a request may name, and how a
 * later request narrows the audience of its grant. Pure.
 */
import { Failure } from '../../kernel/failure.ts'

/** The paths of the protected resources (RFC 9728); '' is the whole service. */
export type ResourcePath = '' | '/api' | '/mcp'

export interface Audiences {
  /** The paths of the resources of this server. */
  readonly paths: readonly ResourcePath[]
  /** The audience of a grant that names no resource. */
  readonly standard: () => string
  /** Everything that a request may name, the standard audience included. */
  readonly all: () => readonly string[]
  /** The resources of this server, the whole service first. */
  readonly own: () => readonly string[]
  /** The resource of this server that a path belongs to. */
  readonly ofPath: (path: string) => string
}

/** Scheme and host compare without case, one final slash aside; the rest compares as text. */
function comparable(resource: string): string {
  const [, origin = '', rest = resource] =
    /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)(.*)$/is.exec(resource) ?? []
  return origin.toLowerCase() + rest.replace(/\/$/, '')
}

/**
 * Returns the audience that a request names, in the server's own spelling, each resource once;
 * undefined if it names none. Throws 400 `invalid_target` for a resource that is not in `allowed`.
 *
 * @param allowed all resources, or those of the grant, which a later request can only narrow
 * @example
 * selectAudience(['HTTPS://api.example.com/'], ['https://api.example.com'])
 * // ['https://api.example.com']
 */
export function selectAudience(
  resources: readonly string[],
  allowed: readonly string[],
): readonly string[] | undefined {
  if (resources.length === 0) return undefined
  const own = new Map(allowed.map((resource) => [comparable(resource), resource]))
  const selected = resources.map((resource) => {
    const spelling = own.get(comparable(resource))
    if (spelling !== undefined) return spelling
    throw new Failure('invalid_target', `resource must be one of ${allowed.join(', ')}.`)
  })
  return [...new Set(selected)]
}

/** Returns the claim `aud`: a text, or a list where a token has several audiences (RFC 7519). */
export const audienceClaim = (audience: readonly string[]): string | readonly string[] =>
  audience.length === 1 ? audience[0]! : audience

/** Whether the claim `aud` names a resource. */
export const isFor = (aud: string | readonly string[], resource: string): boolean =>
  typeof aud === 'string' ? aud === resource : aud.includes(resource)

/** Whether the claim `aud` names a resource in any of its spellings. */
export const isForResource = (aud: string | readonly string[], resource: string): boolean =>
  [aud].flat().some((name) => comparable(name) === comparable(resource))

/** A path accepts tokens of its own resource, and those of the standard audience. */
export const isForPath = (
  aud: string | readonly string[],
  { standard, ofPath }: Audiences,
  path: string,
): boolean => isFor(aud, standard()) || isFor(aud, ofPath(path))
