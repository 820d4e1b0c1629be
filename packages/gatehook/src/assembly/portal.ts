/** Assembles the endpoints with which customers see their integration in the portal (§12.2). */

import type { Catalog } from '../declare/resources/catalog.ts'
import { signInResource } from '../declare/resources/directory.ts'
import type { ServiceEventTypes } from '../declare/resources/event-types.ts'
import type { Versions } from '../declare/versions/versions.ts'
import type { Administration } from '../identity/access/administration.ts'
import type { Tokens } from '../identity/tokens/api.ts'
import type { Monitoring } from '../operate/monitoring/monitoring.ts'
import { applicationRoutes } from '../pages/portal/applications.ts'
import { upcomingChanges } from '../pages/portal/changes.ts'
import { healthRoute } from '../pages/portal/health.ts'
import { portalRequestRoutes } from '../pages/portal/requests.ts'
import type { Component, Foundation } from './foundation.ts'

interface PortalAssembly {
  readonly administration: Administration
  readonly catalog: Catalog
  readonly types: ServiceEventTypes
  readonly tokens: Tokens
  readonly versioning: Versions
}

export function assemblePortal(
  { db, clock, config }: Foundation,
  { administration, catalog, types, tokens, versioning }: PortalAssembly,
  {
    requests,
    readPeak,
    options: { rightsOf },
  }: Pick<Monitoring, 'requests' | 'readPeak' | 'options'>,
): Component {
  const { rateLimit: rate } = config
  const people = signInResource(catalog.service.resources)?.name
  const health = healthRoute({
    db,
    clock,
    versions: versioning.describe,
    changesAfter: (version) => upcomingChanges(catalog, types, version),
    readPeak,
    rate: rate ? { limit: rate.limit, windowMs: rate.windowS * 1000 } : undefined,
  })
  return {
    routes: [
      health,
      ...portalRequestRoutes(requests),
      ...applicationRoutes({ ...administration, tokens, people, rightsOf }),
    ],
  }
}
