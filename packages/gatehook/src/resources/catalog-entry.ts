/** The types of a catalog: the resources of a service, prepared to run (`catalog.ts`). */
import type { RenderObject } from '../events/event.ts'
import type { Collection } from '../lists/collection.ts'
import type { ReachRule } from './ownership.ts'
import type { ResourceDefinition } from './resource.ts'
import type { ResourceRows } from './rows.ts'
import type { ServiceDefinition } from './service.ts'
import type { VersionShape } from './shape.ts'

export interface CatalogEntry extends ReachRule {
  readonly definition: ResourceDefinition
  readonly collection: Collection
  /** By version. */
  readonly shapes: ReadonlyMap<string, VersionShape>
  readonly rows: ResourceRows
}

export interface Catalog {
  readonly service: ServiceDefinition
  /** Majors, oldest first. */
  readonly versions: readonly string[]
  readonly newest: string
  readonly entries: ReadonlyMap<string, CatalogEntry>
  rowsOf(resource: string): ResourceRows
  readonly render: RenderObject
}
