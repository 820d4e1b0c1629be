/**
 * The protected resources of a service (RFC 9728): the whole service, and the API under `/api`.
 * Each has metadata of its own. Pure.
 */
const METADATA_PATH = '/.well-known/oauth-protected-resource'

/** Paths of resources within the service; requests elsewhere belong to the whole service. */
export const RESOURCE_PATHS = ['', '/api'] as const

export type ResourcePath = (typeof RESOURCE_PATHS)[number]

/** Returns the URL of the metadata of the resource to which a path belongs. */
export function resourceMetadataUrl(publicUrl: string, path: string): string {
  const resource = RESOURCE_PATHS.findLast((name) => path === name || path.startsWith(`${name}/`))
  return `${publicUrl}${METADATA_PATH}${resource ?? ''}`
}
