/**
 * How an event of a type is made to happen: the calls of the API that lead to it, worked out from
 * the declaration. Nothing is faked: rows are made and go their way through the states.
 */
import type { ActionDefinition, AnyRow, Definition } from '../resources/resource.ts'
import { STATE_FIELD } from '../resources/resource.ts'
import { externalTypes, type ServiceDefinition } from '../resources/service.ts'

export type Plan =
  | { readonly kind: 'posted' }
  | {
      readonly kind: 'row'
      readonly resource: Definition
      /** Actions on a new row, in order; the last one may be what emits. */
      readonly actions: readonly ActionDefinition[]
      readonly ending: 'update' | 'delete' | undefined
    }

/** Types that `trigger` can make happen. */
export const triggerable = ({ resources, externalEvents }: ServiceDefinition): string[] => [
  ...resources.flatMap(({ events, actions }) => [
    ...events,
    ...actions.flatMap(({ emits }) => emits ?? []),
  ]),
  ...externalEvents.map(({ type }) => type),
]

/** Undefined for a type nothing in the declaration leads to. */
export function planFor(service: ServiceDefinition, type: string): Plan | undefined {
  if (externalTypes(service).includes(type)) return { kind: 'posted' }
  for (const resource of service.resources) {
    if (resource.events.includes(type)) {
      const what = type.slice(type.lastIndexOf('.') + 1)
      const ending = what === 'updated' ? 'update' : what === 'deleted' ? 'delete' : undefined
      return { kind: 'row', resource, actions: [], ending }
    }
    const actions = wayTo(resource, (action) => action.emits === type)
    if (actions) return { kind: 'row', resource, actions, ending: undefined }
  }
  return undefined
}

/** The shortest way from a new row to an action: breadth first through the states. */
function wayTo(
  { actions, fields }: Definition,
  wanted: (action: ActionDefinition) => boolean,
): ActionDefinition[] | undefined {
  const start = fields[STATE_FIELD]?.default as string | undefined
  const seen = new Set([start])
  let ways: { state: string | undefined; way: ActionDefinition[] }[] = [{ state: start, way: [] }]
  while (ways.length > 0) {
    const next: typeof ways = []
    for (const { state, way } of ways) {
      const open = actions.filter(({ from }) => !from || from.includes(state!))
      const last = open.find(wanted)
      if (last) return [...way, last]
      for (const action of open) {
        if (action.to === undefined || seen.has(action.to)) continue
        seen.add(action.to)
        next.push({ state: action.to, way: [...way, action] })
      }
    }
    ways = next
  }
  return undefined
}

/** The defaults of an action's input; what has none is left out. */
export const inputOf = ({ input }: ActionDefinition): AnyRow =>
  Object.fromEntries(
    Object.entries(input).flatMap(([name, { default: value }]) =>
      value === undefined || value === null ? [] : [[name, value]],
    ),
  )

/**
 * A field that differs between two samples, with its other value: a change that changes something.
 */
export function changeOf({ sample, fields }: Definition, n: number): AnyRow {
  const [before, after] = [sample?.(n) ?? {}, sample?.(n + 1) ?? {}]
  for (const name of Object.keys(after)) {
    if (after[name] !== before[name] && !fields[name]?.unique) return { [name]: after[name] }
  }
  return {}
}
