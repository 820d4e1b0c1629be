/** Assembles the tools of agents (§16.11), unless the configuration disables them. */
import type { Catalog } from '../declare/resources/catalog.ts'
import { type McpDeps, mcpRoute } from '../pages/mcp/routes.ts'
import type { OpenApiDocument } from '../protocol/openapi/document.ts'
import type { Component, Foundation } from './foundation.ts'

interface McpAssembly extends Pick<McpDeps, 'served'> {
  readonly catalog: Catalog
  readonly documents: { get(name: string): OpenApiDocument | undefined }
}

export function assembleMcp(
  { config, release = 'unknown' }: Foundation,
  { catalog, documents, ...parts }: McpAssembly,
): Component {
  if (config.mcp === 'off') return {}
  const { service, newest } = catalog
  const documentOf = (version: string) => documents.get(version)
  return { routes: [mcpRoute({ ...parts, service: service.name, release, newest, documentOf })] }
}
