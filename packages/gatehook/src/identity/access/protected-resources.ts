/**
 * The protected resources of a service (RFC 9728): the whole service, the API under `/api`, and
 * `/mcp` for agents. Each has metadata of its own. Pure.
 */
import { pathOfUrl } from '../../kernel/uri.ts'
import type { Audiences, ResourcePath } from '../tokens/audience.ts'

const METADATA_PATH = '/.well-known/oauth-protected-resource'

/** Paths of resources within the service; requests elsewhere belong to the whole service. */
const RESOURCE_PATHS: readonly ResourcePath[] = ['', '/api', '/mcp']

const resourceOf = (path: string): ResourcePath =>
  RESOURCE_PATHS.findLast((name) => path === name || path.startsWith(`${name}/`)) ?? ''

/** Returns the audiences of a server with this public URL, and the values of GATEHOOK_AUDIENCE. */
export function createAudiences(
  publicUrl: () => string,
  configured: readonly string[],
  hasMcp = true,
): Audiences {
  const paths = RESOURCE_PATHS.filter((path) => hasMcp || path !== '/mcp')
  const own = () => paths.map((path) => publicUrl() + path)
  return {
    paths,
    standard: () => configured[0] ?? publicUrl(),
    all: () => [...new Set([...configured, ...own()])],
    own,
    ofPath: (path) => publicUrl() + resourceOf(path),
  }
}

/**
 * Returns the URL of the metadata of the resource to which a path belongs: the well-known part
 * precedes the path of the resource (RFC 9728 §3.1).
 */
export const resourceMetadataUrl = (publicUrl: string, path: string): string =>
  new URL(publicUrl).origin + METADATA_PATH + pathOfUrl(publicUrl) + resourceOf(path)
