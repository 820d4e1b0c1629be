/**
 * Compares the event types of a service, with the scopes that read external ones. A removed type is
 * one break, which names the operations whose bodies list it. Pure.
 */
import { patternsOfTypes } from '../../history/events/event-pattern.ts'
import { componentName, type Node, nodeOf, operationsOf } from './document.ts'
import { breakFinding, type OperationFinding, type PartChange } from './finding.ts'
import type { VersionPromise } from './lock.ts'

/** The pointer of removed types: the webhooks of an OpenAPI document. */
export const EVENTS_POINTER = '#/webhooks'

/** Returns the type of an effect such as `orders: pay emits the event order.paid`. */
const emittedTypes = (effect: string): string[] =>
  / emits the event (\S+)$/.exec(effect)?.slice(1) ?? []

const typesOf = ({ externalEvents = {}, rules }: VersionPromise): ReadonlySet<string> =>
  new Set([
    ...Object.values(rules).flatMap(({ effects }) => effects.flatMap(emittedTypes)),
    ...Object.keys(externalEvents),
  ])

interface EventComparison {
  readonly findings: readonly OperationFinding[]
  /** Whether the effect of a rule ends with its event type, which is one of the findings. */
  readonly isReported: (effect: string) => boolean
  /** Returns the promised document without removed types in bodies of the engine. */
  readonly withoutRemovedTypes: (document: Node) => Node
}

export function compareEvents(promised: VersionPromise, current: VersionPromise): EventComparison {
  const types = typesOf(current)
  const removedTypes = [...typesOf(promised)].filter((type) => !types.has(type))
  const removedPatterns = patternsOfTypes(removedTypes).difference(patternsOfTypes(types))
  const bodies = engineBodies(promised.document)
  const removals = removedTypes.map((type) => ({
    ...eventBreak(
      EVENTS_POINTER,
      `The event ${type} is removed: subscribers no longer receive it, and requests that name it ` +
        'are rejected.',
      [type, undefined],
    ),
    operations: [
      ...new Set(
        bodies.flatMap(({ schema, operation }) => (isEnumerated(schema, type) ? operation : [])),
      ),
    ],
  }))
  return {
    findings: [...removals, ...scopeFindings(promised, current)],
    isReported: (effect) => emittedTypes(effect).some((type) => removedTypes.includes(type)),
    withoutRemovedTypes: (document) =>
      removedTypes.length === 0 ? document : withoutValues(document, removedPatterns),
  }
}

/** The types that resources emit need the read scope of the resource, which its paths show. */
const scopeFindings = (promised: VersionPromise, current: VersionPromise): OperationFinding[] =>
  Object.entries(promised.externalEvents ?? {}).flatMap(([type, oldScope]) => {
    const newScope = current.externalEvents?.[type]
    if (newScope === undefined || newScope === oldScope) return []
    return eventBreak(
      `${EVENTS_POINTER}/${type}/x-scope`,
      `The event ${type} needs the scope ${newScope} instead of ${oldScope}: existing ` +
        'credentials lack it.',
      [oldScope, newScope],
    )
  })

const eventBreak = (where: string, sentence: string, parts: PartChange): OperationFinding => ({
  ...breakFinding(where, sentence, parts),
  operations: [],
})

/** The paths of resources and own routes. All others are paths of the engine. */
const DECLARED_PATH = /^\/api\//

interface EngineBody {
  /** `POST /webhooks`. */
  readonly operation: string
  /** The name of its component. */
  readonly name: string
  readonly schema: unknown
}

/** Returns the bodies of requests that operations of the engine accept. */
function engineBodies(document: Node): EngineBody[] {
  const schemas = nodeOf(nodeOf(document.components).schemas)
  return [...operationsOf(document).values()]
    .filter(({ path }) => !DECLARED_PATH.test(path))
    .flatMap(({ name: operation, node }) =>
      Object.values(nodeOf(nodeOf(node.requestBody).content)).flatMap((media) => {
        const name = componentName(nodeOf(media).schema)
        return name === undefined ? [] : { operation, name, schema: schemas[name] }
      }),
    )
}

/** Whether an enumeration of a schema has a value. */
const isEnumerated = (schema: unknown, value: string): boolean =>
  typeof schema === 'object' &&
  schema !== null &&
  Object.entries(schema).some(([name, member]) =>
    name === 'enum' && Array.isArray(member) ? member.includes(value) : isEnumerated(member, value),
  )

/** Returns the document without some values in the enumerations of bodies of the engine. */
function withoutValues(document: Node, values: ReadonlySet<unknown>): Node {
  const components = nodeOf(document.components)
  const bodies = engineBodies(document).map(({ name, schema }) => [
    name,
    withoutEnumerated(schema, values),
  ])
  const schemas = { ...nodeOf(components.schemas), ...Object.fromEntries(bodies) }
  return { ...document, components: { ...components, schemas } }
}

function withoutEnumerated(schema: unknown, values: ReadonlySet<unknown>): unknown {
  if (Array.isArray(schema)) return schema.map((member) => withoutEnumerated(member, values))
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([name, member]) => [
      name,
      name === 'enum' && Array.isArray(member)
        ? member.filter((value) => !values.has(value))
        : withoutEnumerated(member, values),
    ]),
  )
}
