/**
 * The protected resources of a service (RFC 9728): the whole service, and the API under `/api`.
 * Each has metadata of its own. Pure.
 */
import type { Audiences } from '../tokens/audience.ts'

const METADATA_PATH = '/.well-known/oauth-protected-resource'

/** Paths of resources within the service; requests elsewhere belong to the whole service. */
export const RESOURCE_PATHS = ['', '/api'] as const

export type ResourcePath = (typeof RESOURCE_PATHS)[number]

const resourceOf = (path: string): ResourcePath =>
  RESOURCE_PATHS.findLast((name) => path === name || path.startsWith(`${name}/`)) ?? ''

/** Returns the audiences of a server with this public URL, and the values of GATEHOOK_AUDIENCE. */
export const createAudiences = (
  publicUrl: () => string,
  configured: readonly string[],
): Audiences => {
  const own = () => RESOURCE_PATHS.map((path) => publicUrl() + path)
  return {
    standard: () => configured[0] ?? publicUrl(),
    all: () => [...new Set([...configured, ...own()])],
    own,
    ofPath: (path) => publicUrl() + resourceOf(path),
  }
}

/** Returns the URL of the metadata of the resource to which a path belongs. */
export const resourceMetadataUrl = (publicUrl: string, path: string): string =>
  `${publicUrl}${METADATA_PATH}${resourceOf(path)}`
