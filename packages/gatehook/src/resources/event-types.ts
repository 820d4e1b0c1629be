/**
 * What a service's events are: which types there are, whose objects they hold, and a sample of
 * each, made from the declaration's own `.sample()`. For rooms that know no resources.
 */
import { engineEvents } from '../events/engine-types.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Catalog, Entry } from './catalog.ts'
import { type AnyRow, STATE_FIELD } from './resource.ts'

export interface EventTypes {
  /** Every type, and the collection its objects belong to; undefined: none. */
  readonly collections: ReadonlyMap<string, string | undefined>
  /** A sample object in the newest shape, as JSON text. */
  sample(type: string): string
}

export function eventTypesOf({ service, entries, newest }: Catalog, clock: Clock): EventTypes {
  const collections = new Map<string, string | undefined>()
  for (const type of [...Object.keys(engineEvents), ...service.externalEvents]) {
    collections.set(type, undefined)
  }
  for (const { name, events, actions } of service.resources) {
    for (const type of [...events, ...actions.flatMap((one) => one.emits ?? [])]) {
      collections.set(type, name)
    }
  }
  return {
    collections,
    sample(type) {
      const entry = entries.get(collections.get(type) ?? '')
      if (entry) return entry.shapes.get(newest)!.encode(sampleRow(entry, type, clock.now()))
      // Of an external event only its name is known: `payment.succeeded`.
      const status = type.slice(type.lastIndexOf('.') + 1)
      return JSON.stringify(engineEvents[type] ?? { id: 'sample', status })
    },
  }
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
