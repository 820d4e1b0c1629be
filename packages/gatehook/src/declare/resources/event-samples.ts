/** A sample of each event type in the shape of a version, for OpenAPI and the docs. Pure. */
import { engineEventScope, engineEvents } from '../../history/events/engine-types.ts'
import type { Catalog } from './catalog.ts'
import { EXTERNAL_EVENT_SCOPE, externalSample } from './event-types.ts'
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
export function listEventSamples({ service, entries }: Catalog, version: string): EventSample[] {
  const rows = [...entries.values()].flatMap(({ definition, shapes }): EventSample[] => {
    const { name, events, actions } = definition
    const shape = shapes.get(version)!
    return [...events, ...actions.flatMap(({ emits }) => emits ?? [])].map((type) => ({
      type,
      scope: readScopeOf(definition),
      collection: name,
      object: JSON.parse(shape.encode(sampleAfter(definition, type, sampleRow(definition)))),
    }))
  })
  const external = service.externalEvents.map(({ type, scope }) => ({
    type,
    scope: scope ?? EXTERNAL_EVENT_SCOPE,
    collection: undefined,
    object: externalSample(type),
  }))
  const engine = Object.entries(engineEvents).map(([type, object]) => ({
    type,
    scope: engineEventScope(type),
    collection: undefined,
    object,
  }))
  return [...rows, ...external, ...engine]
}
