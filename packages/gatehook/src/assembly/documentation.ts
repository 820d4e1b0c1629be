/** Assembles the docs: pages from the declaration and its OpenAPI documents (§12.1). */

import type { Catalog } from '../declare/resources/catalog.ts'
import { listEventSamples } from '../declare/resources/event-samples.ts'
import type { Versions } from '../declare/versions/versions.ts'
import type { BuiltPages } from '../pages/assets/assets.ts'
import { ERRORS_PAGE } from '../pages/documentation/errors-page.ts'
import { documentationRoutes } from '../pages/documentation/routes.ts'
import type { OpenApiDocument } from '../protocol/openapi/document.ts'
import type { Component, Foundation } from './foundation.ts'

interface DocumentationAssembly {
  readonly catalog: Catalog
  readonly documents: { get(name: string): OpenApiDocument | undefined }
  readonly versioning: Pick<Versions, 'statusOf'>
  readonly pages: BuiltPages | undefined
}

/**
 * Returns the address of the page of all failures, which errors name in `documentation`: that of
 * the version of the request, or of the newest.
 */
export const errorsUrl =
  (publicUrl: () => string, { newest }: Pick<Catalog, 'newest'>) =>
  (version: string = newest): string =>
    `${publicUrl()}/docs/${version}/${ERRORS_PAGE}`

export function assembleDocumentation(
  { config, publicUrl }: Foundation,
  { catalog, documents, versioning, pages }: DocumentationAssembly,
): Component {
  const { service, versions } = catalog
  const hasMcp = config.mcp === 'on'
  const routes = documentationRoutes({
    versions,
    service: service.name,
    publicUrl,
    pages,
    hasMcp,
    statusOf: (version) => versioning.statusOf(version)!,
    sourceOf: (version, base) => ({
      service,
      version,
      versions,
      base,
      hasMcp,
      document: documents.get(version)!,
      platform: documents.get('platform')!,
      events: listEventSamples(catalog, version),
    }),
  })
  return { routes }
}
