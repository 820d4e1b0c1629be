/** A sample of each event type in the shape of a version, for OpenAPI and the docs. Pure. */
import { engineEventScope, engineEvents } from '../../history/events/engine-types.ts'
import { type ApiResource, hasApi, withApi } from './api-resources.ts'
import type { Catalog } from './catalog.ts'
import { EXTERNAL_EVENT_SCOPE, objectSample } from './event-types.ts'
import { sampleAfter, sampleRow } from './sample.ts'
import { readScopeOf } from './scopes.ts'

export interface EventSample {
  readonly type: string
  /** The scope that reads it; undefined for public rows. */
  readonly scope: string | undefined
  /** The collection of its rows; undefined for events of other backends and of the engine. */
  readonly collection: string | undefined
  readonly object: unknown
}

/** Returns the types of resources, of other backends, then of the engine. */
export function listEventSamples(catalog: Catalog, version: string): EventSample[] {
  const { service, entries } = catalog
  const rowSample = (definition: ApiResource, type: string): EventSample => {
    const shape = entries.get(definition.name)!.shapes.get(version)!
    const object = JSON.parse(shape.encode(sampleAfter(definition, type, sampleRow(definition))))
    return { type, scope: readScopeOf(definition), collection: definition.name, object }
  }
  const rows = withApi(service.resources).flatMap((definition) => {
    const { events, actions } = definition
    const types = [...events, ...actions.flatMap(({ emits }) => emits ?? [])]
    return types.map((type) => rowSample(definition, type))
  })
  const ownRows = service.events.flatMap(({ type, resource }) =>
    resource && hasApi(resource) ? [rowSample(resource, type)] : [],
  )
  const objects = [...service.events.filter(({ resource }) => !resource), ...service.externalEvents]
  const external = objects.map(({ type, scope }) => ({
    type,
    scope: scope ?? EXTERNAL_EVENT_SCOPE,
    collection: undefined,
    object: objectSample(catalog, type, version),
  }))
  const engine = Object.entries(engineEvents).map(([type, object]) => ({
    type,
    scope: engineEventScope(type),
    collection: undefined,
    object,
  }))
  return [...rows, ...ownRows, ...external, ...engine]
}
