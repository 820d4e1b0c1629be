/**
 * The event types of a service: their collections, the scopes that read them, and a sample of each
 * from `.sample()`.
 */
import { engineEventScope, engineEvents } from '../../history/events/engine-types.ts'
import {
  createEventAccess,
  type EventAccess,
  type EventRule,
} from '../../history/events/event-access.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Principal, Scope } from '../../kernel/principal.ts'
import { reachesResource } from './agent-reach.ts'
import { withApi } from './api-resources.ts'
import type { ApiEntry, Catalog, CatalogEntry } from './catalog.ts'
import { listAllEventTypes } from './event-type-list.ts'
import { sampleAfter, sampleRow } from './sample.ts'
import { readScopeOf } from './scopes.ts'
import type { ServiceDefinition } from './service.ts'

/** The scope that reads an external event without a scope of its own (§9.14). */
export const EXTERNAL_EVENT_SCOPE = 'events:read'

export interface ServiceEventTypes extends EventAccess {
  /** Returns a sample object in the newest shape, as JSON text. */
  sample(type: string): string
}

export function createEventTypes(catalog: Catalog, clock: Clock): ServiceEventTypes {
  const { service, apiEntries, newest } = catalog
  const owners = new Map<string, EventRule>()
  const ruleOfRows = (entry: ApiEntry): EventRule => ({
    collection: entry.definition.name,
    scope: readScopeOf(entry.definition),
    owned: isOwned(entry),
    agents: reachesResource(entry.definition),
  })
  for (const entry of apiEntries.values()) {
    const { events, actions } = entry.definition
    const rule = ruleOfRows(entry)
    for (const type of [...events, ...actions.flatMap(({ emits }) => emits ?? [])]) {
      owners.set(type, rule)
    }
  }
  for (const { type, resource } of service.events) {
    if (resource) owners.set(type, ruleOfRows(apiEntries.get(resource.name)!))
  }
  const external = new Map(
    [...service.events, ...service.externalEvents].map(({ type, scope = EXTERNAL_EVENT_SCOPE }) => [
      type,
      scope,
    ]),
  )
  const ruleOf = (type: string): EventRule =>
    owners.get(type) ?? {
      collection: undefined,
      scope: external.get(type) ?? engineEventScope(type),
      owned: false,
      agents: true,
    }
  const rules = new Map(listAllEventTypes(service).map((type) => [type, ruleOf(type)]))
  const access = createEventAccess(rules)
  return {
    ...access,
    sample(type) {
      const entry = apiEntries.get(access.collections.get(type) ?? '')
      if (entry) {
        const row = sampleRow(entry.definition, { n: 0, at: clock.now() })
        return entry.shapes.get(newest)!.encode(sampleAfter(entry.definition, type, row))
      }
      return JSON.stringify(engineEvents[type] ?? objectSample(catalog, type, newest))
    },
  }
}

/**
 * Returns a sample object of an event whose object is no row: of its fields, or of one that has
 * only a name, such as `payment.succeeded`.
 */
export function objectSample(
  { objectForms }: Pick<Catalog, 'objectForms'>,
  type: string,
  version: string,
): Readonly<Record<string, unknown>> {
  const untyped = { id: 'sample', status: type.slice(type.lastIndexOf('.') + 1) }
  return objectForms.get(type)?.sample(version) ?? untyped
}

/** Returns the scopes of a key that reads every event of the service. */
export function listEventScopes({
  resources,
  events,
  externalEvents,
}: ServiceDefinition): string[] {
  const engineScopes = Object.keys(engineEvents).map(engineEventScope)
  const externalScopes = [...events, ...externalEvents].flatMap(({ scope }) => scope ?? [])
  const readScopes = withApi(resources).flatMap((definition) => readScopeOf(definition) ?? [])
  return [...new Set([EXTERNAL_EVENT_SCOPE, ...engineScopes, ...externalScopes, ...readScopes])]
}

/** Returns whether a person without `<collection>:all` reaches only a part of the rows (§6.7). */
const isOwned = ({ holdsAll }: CatalogEntry): boolean => !holdsAll(PERSON)

const PERSON: Principal = {
  kind: 'person',
  customer: '',
  mode: 'test',
  subject: '0',
  scope: 0 as Scope,
  scopes: new Set<string>(),
}
