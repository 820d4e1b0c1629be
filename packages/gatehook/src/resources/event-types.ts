/**
 * The event types of a service: their collections, the scopes that read them, and a sample of each
 * from `.sample()`.
 */
import { engineEventScope, engineEvents } from '../events/engine-types.ts'
import { createEventAccess, type EventAccess, type EventRule } from '../events/event-access.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Principal, Scope } from '../kernel/principal.ts'
import type { Catalog, CatalogEntry } from './catalog.ts'
import { type AnyRow, STATE_FIELD } from './resource.ts'
import { readScopeOf } from './scopes.ts'
import type { ServiceDefinition } from './service.ts'

/** The scope that reads an external event without a scope of its own (§9.14). */
const EXTERNAL_SCOPE = 'events:read'

export interface ServiceEventTypes extends EventAccess {
  /** Returns a sample object in the newest shape, as JSON text. */
  sample(type: string): string
}

export function createEventTypes(catalog: Catalog, clock: Clock): ServiceEventTypes {
  const { service, entries, newest } = catalog
  const rules = new Map<string, EventRule>()
  const addRule = (type: string, scope: string) =>
    rules.set(type, { collection: undefined, scope, owned: false })
  for (const type of Object.keys(engineEvents)) addRule(type, engineEventScope(type))
  for (const { type, scope } of service.externalEvents) addRule(type, scope ?? EXTERNAL_SCOPE)
  for (const definition of service.resources) {
    const { name, events, actions } = definition
    const rule = {
      collection: name,
      scope: readScopeOf(definition),
      owned: isOwned(entries.get(name)!),
    }
    for (const type of [...events, ...actions.flatMap(({ emits }) => emits ?? [])]) {
      rules.set(type, rule)
    }
  }
  const access = createEventAccess(rules)
  return {
    ...access,
    sample(type) {
      const entry = entries.get(access.collections.get(type) ?? '')
      if (entry) return entry.shapes.get(newest)!.encode(sampleRow(entry, type, clock.now()))
      // An external event has only a name: `payment.succeeded`.
      const status = type.slice(type.lastIndexOf('.') + 1)
      return JSON.stringify(engineEvents[type] ?? { id: 'sample', status })
    },
  }
}

/** Returns the scopes of a key that reads every event of the service. */
export function listEventScopes({ resources, externalEvents }: ServiceDefinition): string[] {
  const engineScopes = Object.keys(engineEvents).map(engineEventScope)
  const externalScopes = externalEvents.flatMap(({ scope }) => scope ?? [])
  const readScopes = resources.flatMap((definition) => readScopeOf(definition) ?? [])
  return [...new Set([EXTERNAL_SCOPE, ...engineScopes, ...externalScopes, ...readScopes])]
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

/** Returns a row as it is after the event: in the state to which the action leads. */
function sampleRow({ definition, shapes }: CatalogEntry, type: string, now: number): AnyRow {
  const row: AnyRow = { ...[...shapes.values()].at(-1)!.defaults, ...definition.sample?.(0) }
  for (const [name, spec] of Object.entries(definition.fields)) {
    if (spec.stamp) row[name] = now
    else if (spec.kind === 'id' || spec.kind === 'ref') row[name] ??= 1
  }
  const to = definition.actions.find(({ emits }) => emits === type)?.to
  if (to !== undefined) row[STATE_FIELD] = to
  return row
}
