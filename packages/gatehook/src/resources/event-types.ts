/**
 * A service's event types: which there are, whose objects they hold, which scopes read them, and a
 * sample of each from the declaration's own `.sample()`. For modules that know no resources.
 */
import { engineEventScope, engineEvents } from '../events/engine-types.ts'
import { createEventAccess, type EventAccess, type EventRule } from '../events/event-access.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Principal, Scope } from '../kernel/principal.ts'
import type { Catalog, Entry } from './catalog.ts'
import { type AnyRow, STATE_FIELD } from './resource.ts'
import { readScopeOf } from './scopes.ts'
import type { ServiceDefinition } from './service.ts'

/** The scope that reads external events which declare none of their own (§9.14). */
const EXTERNAL_SCOPE = 'events:read'

export interface EventTypes extends EventAccess {
  /** A sample object in the newest shape, as JSON text. */
  sample(type: string): string
}

export function eventTypesOf(catalog: Catalog, clock: Clock): EventTypes {
  const { service, entries, newest } = catalog
  const rules = new Map<string, EventRule>()
  const add = (type: string, scope: string) =>
    rules.set(type, { collection: undefined, scope, owned: false })
  for (const type of Object.keys(engineEvents)) add(type, engineEventScope(type))
  for (const { type, scope } of service.externalEvents) add(type, scope ?? EXTERNAL_SCOPE)
  for (const one of service.resources) {
    const { name, events, actions } = one
    const rule = { collection: name, scope: readScopeOf(one), owned: isOwned(entries.get(name)!) }
    for (const type of [...events, ...actions.flatMap((one) => one.emits ?? [])]) {
      rules.set(type, rule)
    }
  }
  const access = createEventAccess(rules)
  return {
    ...access,
    sample(type) {
      const entry = entries.get(access.collections.get(type) ?? '')
      if (entry) return entry.shapes.get(newest)!.encode(sampleRow(entry, type, clock.now()))
      // Of an external event only its name is known: `payment.succeeded`.
      const status = type.slice(type.lastIndexOf('.') + 1)
      return JSON.stringify(engineEvents[type] ?? { id: 'sample', status })
    },
  }
}

/** The scopes of a key that reads every event of the service. */
export function eventScopesOf({ resources, externalEvents }: ServiceDefinition): string[] {
  const engine = Object.keys(engineEvents).map(engineEventScope)
  const declared = externalEvents.flatMap(({ scope }) => scope ?? [])
  const read = resources.flatMap((one) => readScopeOf(one) ?? [])
  return [...new Set([EXTERNAL_SCOPE, ...engine, ...declared, ...read])]
}

/** A person without `<collection>:all` reaches a part of the rows, or none of them (§6.7). */
const isOwned = ({ holdsAll }: Entry): boolean => !holdsAll(PERSON)

const PERSON: Principal = {
  ...{ kind: 'person', customer: '', mode: 'test', subject: '0' },
  scope: 0 as Scope,
  scopes: new Set<string>(),
}

/** A row as it is after what the event tells of: an action's state, where it has one. */
function sampleRow({ definition, shapes }: Entry, type: string, now: number): AnyRow {
  const row: AnyRow = { ...[...shapes.values()].at(-1)!.defaults, ...definition.sample?.(0) }
  for (const [name, spec] of Object.entries(definition.fields)) {
    if (spec.stamp) row[name] = now
    else if (spec.kind === 'id' || spec.kind === 'ref') row[name] ??= 1
  }
  const to = definition.actions.find((one) => one.emits === type)?.to
  if (to !== undefined) row[STATE_FIELD] = to
  return row
}
