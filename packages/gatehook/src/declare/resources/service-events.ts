/**
 * The events of a service beside those of its resources: of own code (`events`), and of other
 * backends (`externalEvents`). Pure.
 */
import { engineEvents } from '../../history/events/engine-types.ts'
import { closestClause } from '../../kernel/closest.ts'
import { duplicatesIn } from '../../protocol/fields/declaration-mistakes.ts'
import type { Fields } from '../../protocol/fields/fields.ts'
import { hasApi, ownCodeAlone } from './api-resources.ts'
import { findChainMistakes } from './chain-check.ts'
import { ObjectEvent, type OwnEventDefinition } from './own-event.ts'
import type { ResourceDefinition } from './resource.ts'
import { actionEvents, EVENT_TYPE } from './resource-check.ts'

/**
 * An event type that other backends emit: by its type, or by `event(…)` with the members of its
 * object.
 */
export interface ExternalEvent {
  readonly type?: string
  /** The scope that reads it. Default: `events:read`. */
  readonly scope?: string
  readonly event?: ObjectEvent<Fields>
  /** The ways to emit it: `POST /events`, and SQL. Default: both. */
  readonly from?: readonly EventOrigin[]
}

const EVENT_ORIGINS = ['api', 'sql'] as const
type EventOrigin = (typeof EVENT_ORIGINS)[number]

/** An external event without its type parameters. */
export interface ExternalEventDefinition {
  readonly type: string
  readonly scope?: string | undefined
  readonly event?: OwnEventDefinition | undefined
  readonly from: readonly EventOrigin[]
}

/** The types of `externalEvents` of the options. */
export type ExternalTypesOf<O> = O extends { readonly externalEvents: readonly (infer X)[] }
  ? X extends string
    ? X
    : X extends { readonly type: infer T extends string }
      ? T
      : never
  : never

export const isExternalEvent = (event: unknown): boolean => {
  const { type, event: typed } = (event ?? {}) as { type?: unknown; event?: unknown }
  return [event, type].some((name) => typeof name === 'string') || typed instanceof ObjectEvent
}

export const toExternal = (given: string | ExternalEvent): ExternalEventDefinition => {
  if (typeof given === 'string') return { type: given, from: EVENT_ORIGINS }
  const { event, from = EVENT_ORIGINS } = given
  const definition = event?.definition
  const { type = definition!.type, scope = definition?.scope } = given
  return { type, scope, event: definition, from }
}

/** The parts of a service that declare events. */
interface EventSources {
  readonly resources: readonly ResourceDefinition[]
  readonly events: readonly OwnEventDefinition[]
  readonly externalEvents: readonly ExternalEventDefinition[]
  readonly versions: readonly { readonly name: string }[]
}

/** An event type has one source: its collection determines who can read it (§9.14). */
export function findEventMistakes({
  resources,
  events,
  externalEvents,
  versions,
}: EventSources): string[] {
  const mistakes: string[] = []
  const sourceByType = new Map(Object.keys(engineEvents).map((type) => [type, 'the engine']))
  const addSource = (type: string, source: string) => {
    const other = sourceByType.get(type) ?? source
    if (other !== source) mistakes.push(`event ${type}: is declared by ${other} and by ${source}`)
    sourceByType.set(type, source)
  }
  for (const resource of resources) {
    for (const type of [...resource.events, ...actionEvents(resource)]) {
      addSource(type, resource.name)
    }
  }
  for (const { type, from } of externalEvents) {
    addSource(type, 'externalEvents')
    if (!Array.isArray(from) || !from.every((way) => EVENT_ORIGINS.includes(way))) {
      mistakes.push(`event ${type}: from is an array of ${EVENT_ORIGINS.join(', ')}`)
    }
  }
  for (const { type } of events) addSource(type, 'events')
  const types = [...externalEvents, ...events].map(({ type }) => type)
  for (const type of types.filter((type) => !EVENT_TYPE.test(type))) {
    mistakes.push(`event ${type}: types look like payment.succeeded`)
  }
  for (const type of duplicatesIn(types)) mistakes.push(`event ${type}: is declared twice`)
  for (const { type, resource } of events) {
    if (resource && !resources.some(({ name }) => name === resource.name)) {
      mistakes.push(`event ${type}: the service has no resource ${resource.name}`)
    } else if (resource && !hasApi(resource)) {
      mistakes.push(`event ${type}: ${ownCodeAlone(resource)}; declare fields({…}) instead`)
    }
  }
  const names = versions.map(({ name }) => name)
  for (const { type, fields } of [
    ...events,
    ...externalEvents.flatMap(({ event }) => event ?? []),
  ]) {
    if (!fields) continue
    const inChain = findChainMistakes(Object.keys(fields.members), fields.changes, names)
    mistakes.push(...inChain.map((mistake) => `event ${type}: ${mistake}`))
  }
  return mistakes
}

/** Reports an event type that a resource has not. */
export function findForeignType(resource: ResourceDefinition, type: string): string[] {
  const types = [...resource.events, ...actionEvents(resource)]
  if (types.includes(type)) return []
  const hint = closestClause(type, types)
  return [`.on ${type}: ${resource.name} has no event ${type}${hint}`]
}
