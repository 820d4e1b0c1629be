/**
 * The parameter `resource` of authorization and token requests (RFC 8707, §16.2): the public URL of
 * this server, its API, or its audience. Pure.
 */
import { RESOURCE_PATHS } from '../access/protected-resources.ts'
import { OauthError } from './oauth-error.ts'
import type { OauthParameters } from './parameters.ts'

/** The URLs of this server that `resource` may name. */
export interface OwnResources {
  readonly issuer: () => string
  readonly audience: () => string
}

/** Throws `invalid_target` if a request names a resource that is not of this server. */
export function rejectForeignResources(
  parameters: OauthParameters,
  { issuer, audience }: OwnResources,
): void {
  const sent = parameters.get('resource')
  if (sent === undefined) return
  const own = [...RESOURCE_PATHS.map((path) => issuer() + path), audience()]
  const accepted = new Set(own.map(comparable))
  for (const resource of sent.split(' ')) {
    if (accepted.has(comparable(resource))) continue
    throw new OauthError('invalid_target', `resource must be one of ${own.join(', ')}.`)
  }
}

/** Scheme and host compare without case, one final slash aside; the rest compares as text. */
function comparable(resource: string): string {
  const [, origin = '', rest = resource] =
    /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)(.*)$/is.exec(resource) ?? []
  return origin.toLowerCase() + rest.replace(/\/$/, '')
}
