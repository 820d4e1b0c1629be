/**
 * Plans the API requests that lead to an event of a type, from the declaration: a row is created
 * and passes through its states by actions.
 */

import { endpointActions } from '../declare/resources/action.ts'
import { type ApiResource, withApi } from '../declare/resources/api-resources.ts'
import { postedEventTypes } from '../declare/resources/event-type-list.ts'
import type { ActionDefinition, AnyRow, ResourceDefinition } from '../declare/resources/resource.ts'
import { STATE_FIELD } from '../declare/resources/resource.ts'
import { sampleMember, sampleRow } from '../declare/resources/sample.ts'
import type { ServiceDefinition } from '../declare/resources/service.ts'
import { toWire } from '../declare/resources/validate.ts'
import type { FieldSpec } from '../protocol/fields/fields.ts'
import { fieldKindOf } from '../protocol/fields/kinds/table.ts'

export type EventPlan =
  /** `POST /events`. */
  | { readonly kind: 'external' }
  | {
      readonly kind: 'row'
      readonly resource: ApiResource
      /** Actions on a new row, in order. The last one may emit the event. */
      readonly actions: readonly ActionDefinition[]
      readonly ending: 'update' | 'delete' | undefined
    }

/** Lists the event types that `trigger` can cause. */
export function triggerable(service: ServiceDefinition): string[] {
  const types = service.resources.flatMap(({ events, actions }) => [
    ...events,
    ...actions.flatMap(({ emits }) => emits ?? []),
  ])
  return [...types, ...postedEventTypes(service)].filter((type) => planFor(service, type))
}

/** Returns the plan for a type; undefined if no request leads to it. */
export function planFor(service: ServiceDefinition, type: string): EventPlan | undefined {
  if (postedEventTypes(service).includes(type)) return { kind: 'external' }
  for (const resource of withApi(service.resources)) {
    if (resource.access.create === false) continue
    if (resource.events.includes(type)) {
      const verb = type.slice(type.lastIndexOf('.') + 1)
      const ending = verb === 'updated' ? 'update' : verb === 'deleted' ? 'delete' : undefined
      if (ending && resource.access[ending] === false) continue
      return { kind: 'row', resource, actions: [], ending }
    }
    const actions = shortestPath(resource, (action) => action.emits === type)
    if (actions) return { kind: 'row', resource, actions, ending: undefined }
  }
  return undefined
}

/** Finds the shortest path from a new row to an action, breadth first through the states. */
function shortestPath(
  definition: ResourceDefinition,
  isTarget: (action: ActionDefinition) => boolean,
): ActionDefinition[] | undefined {
  const actions = endpointActions(definition)
  const start = definition.fields[STATE_FIELD]?.default as string | undefined
  const visitedStates = new Set([start])
  let paths: { state: string | undefined; path: ActionDefinition[] }[] = [
    { state: start, path: [] },
  ]
  while (paths.length > 0) {
    const longer: typeof paths = []
    for (const { state, path } of paths) {
      const allowedActions = actions.filter(({ from }) => !from || from.includes(state!))
      const last = allowedActions.find(isTarget)
      if (last) return [...path, last]
      for (const action of allowedActions) {
        if (action.to === undefined || visitedStates.has(action.to)) continue
        visitedStates.add(action.to)
        longer.push({ state: action.to, path: [...path, action] })
      }
    }
    paths = longer
  }
  return undefined
}

/**
 * Returns the values of sample `n` as a body has them. Required fields that `.sample()` lacks get
 * a value that they accept; references are the caller's part.
 */
export function sampleValues(definition: ResourceDefinition, n: number): AnyRow {
  const { fields, sample } = definition
  const values = toWire(fields, { ...sample?.(n) })
  const row = toWire(fields, sampleRow(definition, { n }))
  for (const [name, spec] of Object.entries(fields)) {
    if (spec.write !== 'required' || spec.target || values[name] !== undefined) continue
    values[name] = spec.unique ? uniqueValue(name, spec, n) : row[name]
  }
  // A sample may have values that the service sets; a body has none.
  return Object.fromEntries(Object.entries(values).filter(([name]) => isSent(fields[name])))
}

const isSent = (spec: FieldSpec | undefined): boolean => spec?.write !== 'never'

/** A text differs with each `n`. */
const uniqueValue = (name: string, spec: FieldSpec, n: number): unknown =>
  fieldKindOf(spec).numbered?.(name, n, spec) ?? sampleMember(name, spec)

/** Returns the required members of an action's body; references are the caller's part. */
export const inputOf = ({ input }: ActionDefinition): AnyRow =>
  Object.fromEntries(
    Object.entries(input)
      .filter(([, { write, target }]) => write === 'required' && !target)
      .map(([name, spec]) => [name, sampleMember(name, spec)]),
  )

/** Returns a patch with a field that differs from the row of sample `n`; `{}` if none can. */
export function changeOf({ sample, fields }: ResourceDefinition, n: number, row: AnyRow): AnyRow {
  const next = toWire(fields, { ...sample?.(n + 1) })
  for (const [name, spec] of Object.entries(fields)) {
    if (spec.write === 'never' || spec.isWriteOnce || spec.unique || spec.target) continue
    const value =
      name in next && next[name] !== row[name]
        ? next[name]
        : fieldKindOf(spec).other?.(spec, row[name])
    if (value !== undefined) return { [name]: value }
  }
  return {}
}
