/** The names of the event types of a service. Pure. */
import { engineEvents } from '../../history/events/engine-types.ts'
import type { ResourceDefinition } from './resource.ts'
import { actionEvents } from './resource-check.ts'

/** The part of a service that declares event types. */
interface EventDeclarations {
  readonly resources: readonly ResourceDefinition[]
  readonly events: readonly { readonly type: string }[]
  readonly externalEvents: readonly { readonly type: string; readonly from: readonly string[] }[]
}

/** Returns the types that `POST /events` accepts. */
export const postedEventTypes = ({
  externalEvents,
}: Pick<EventDeclarations, 'externalEvents'>): string[] =>
  externalEvents.filter(({ from }) => from.includes('api')).map(({ type }) => type)

/** Returns the types that transactions of the team emit by SQL (§17.2). */
export const emittedEventTypes = ({
  externalEvents,
}: Pick<EventDeclarations, 'externalEvents'>): string[] =>
  externalEvents.filter(({ from }) => from.includes('sql')).map(({ type }) => type)

/** Returns the event types of the service, sorted. */
export function listEventTypes(definition: EventDeclarations): string[] {
  const resourceTypes = definition.resources.flatMap((resource) => [
    ...resource.events,
    ...actionEvents(resource),
  ])
  const others = [...definition.events, ...definition.externalEvents].map(({ type }) => type)
  return [...new Set([...resourceTypes, ...others])].sort()
}

/**
 * Returns every event type that the service and the engine emit. The engine's are last, because
 * messages and examples name the first types.
 */
export const listAllEventTypes = (definition: EventDeclarations): string[] => [
  ...new Set([...listEventTypes(definition), ...Object.keys(engineEvents)]),
]
