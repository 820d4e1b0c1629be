/** The names of the event types of a service. Pure. */
import { engineEvents } from '../../history/events/engine-types.ts'
import type { ResourceDefinition } from './resource.ts'
import { actionEvents } from './resource-check.ts'

/** The part of a service that declares event types. */
interface EventDeclarations {
  readonly resources: readonly ResourceDefinition[]
  readonly externalEvents: readonly { readonly type: string }[]
}

export const externalEventTypes = ({
  externalEvents,
}: Pick<EventDeclarations, 'externalEvents'>): string[] => externalEvents.map(({ type }) => type)

/** Returns the event types of the service, sorted. */
export function listEventTypes(definition: EventDeclarations): string[] {
  const resourceTypes = definition.resources.flatMap((resource) => [
    ...resource.events,
    ...actionEvents(resource),
  ])
  return [...new Set([...resourceTypes, ...externalEventTypes(definition)])].sort()
}

/**
 * Returns every event type that the service and the engine emit. The engine's are last, because
 * messages and examples name the first types.
 */
export const listAllEventTypes = (definition: EventDeclarations): string[] => [
  ...new Set([...listEventTypes(definition), ...Object.keys(engineEvents)]),
]
