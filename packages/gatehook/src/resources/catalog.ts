/**
 * A service made ready to run: for each resource its rows, its table and its shape in every
 * version. Made once at start; routes, OpenAPI, seeds and events work from it.
 */
import type { RenderObject } from '../events/event.ts'
import type { RecordEvent } from '../events/store.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Scope } from '../kernel/principal.ts'
import type { Collection } from '../lists/collection.ts'
import { type ReachRule, reachRule } from './ownership.ts'
import type { Definition } from './resource.ts'
import { type Credentials, createRows, type Rows } from './rows.ts'
import type { ServiceDefinition } from './service.ts'
import { createShape, renderThrough, type Shape } from './shape.ts'
import { collectionOf } from './table.ts'

export interface Entry extends ReachRule {
  readonly definition: Definition
  readonly collection: Collection
  /** By version. */
  readonly shapes: ReadonlyMap<string, Shape>
  readonly rows: Rows
}

export interface Catalog {
  readonly service: ServiceDefinition
  /** Majors, oldest first. */
  readonly versions: readonly string[]
  readonly newest: string
  readonly entries: ReadonlyMap<string, Entry>
  /** The rows of a resource by name. */
  rowsOf(resource: string): Rows
  readonly render: RenderObject
}

export interface CatalogDeps {
  readonly clock: Clock
  readonly record: RecordEvent
  readonly counterSlots: number
  /** What is kept beside the rows that sign in. */
  readonly credentials?: Credentials | undefined
  /** The customer and mode that anonymous callers read (§6.10). */
  readonly publicScope?: Scope | undefined
}

export const newestOf = (service: ServiceDefinition): string => service.versions.at(-1)!.name

export function createCatalog(service: ServiceDefinition, deps: CatalogDeps): Catalog {
  const versions = service.versions.map((version) => version.name)
  const newest = newestOf(service)
  const entries = new Map<string, Entry>()
  const rowsOf = (resource: string) => entries.get(resource)!.rows
  for (const definition of service.resources) {
    const shapes = new Map(
      versions.map((version) => [
        version,
        createShape(definition, versions, version, service.resources),
      ]),
    )
    const pointers = pointersTo(definition.name, service.resources)
    const credentials = definition.signsIn && deps.credentials
    entries.set(definition.name, {
      definition,
      collection: collectionOf(definition, service.resources),
      shapes,
      rows: createRows(definition, shapes.get(newest)!, {
        ...{ ...deps, rowsOf, pointers, credentials },
        resources: service.resources,
      }),
      ...reachRule(definition, service.resources, deps.publicScope),
    })
  }
  const render: RenderObject = (collection, object, shape, version = newest) => {
    const known = collection === undefined ? undefined : entries.get(collection)?.shapes
    const recorded = known?.get(shape)
    const wanted = known?.get(version)
    // A collection or version declared no more: the object is shown as it was recorded.
    return recorded && wanted ? renderThrough(recorded, wanted, object) : object
  }
  return { service, versions, newest, entries, rowsOf, render }
}

function pointersTo(target: string, resources: readonly Definition[]) {
  return resources.flatMap((other) =>
    Object.entries(other.fields)
      .filter(([, spec]) => spec.target === target)
      .map(([field]) => ({ resource: other.name, field })),
  )
}
