/**
 * `api.lock.json`: the promise of every version, as the team last agreed to it. It holds the
 * documents without annotations, and the fields that generated them. Pure; the command reads and
 * writes the file.
 */
import { escapePointer } from '../../protocol/fields/reading.ts'
import { type Node, nodeOf, resolveRef } from './document.ts'

/** The members of a declared field that a stub needs. */
export interface LockedField {
  readonly kind: string
  readonly write: 'required' | 'optional' | 'never'
  readonly nullable: boolean
  readonly default?: unknown
  readonly members?: LockedFields
  readonly items?: LockedField
  readonly min?: number
  readonly max?: number
  readonly pattern?: string
  readonly precision?: number
  readonly scale?: number
  readonly values?: readonly string[]
  readonly target?: string
  readonly idPrefix?: string
  readonly stamp?: string
  readonly isWriteOnce?: boolean
  readonly isWriteOnly?: boolean
  readonly isSecret?: boolean
  readonly unit?: string
  readonly visibleTo?: string
  readonly writableBy?: string
  readonly description?: string
  readonly derived?: unknown
}

export type LockedFields = Readonly<Record<string, LockedField>>

/** The rules of a resource that its document does not contain. */
interface LockedRules {
  readonly limits: readonly { readonly fields: readonly string[]; readonly sentence: string }[]
  readonly effects: readonly string[]
  /** Days in which callers can restore a deleted row. Undefined if they cannot. */
  readonly purgeAfterDays?: number
  /** The largest body. Undefined: that of every request. */
  readonly maxBodyBytes?: number
}

export interface VersionPromise {
  /** Fields of each resource in the shape of this version. */
  readonly fields: Readonly<Record<string, LockedFields>>
  /** OpenAPI 3.1. */
  readonly document: Node
  /** Sentences about values that the document accepts and a conversion rejects. */
  readonly narrowings?: readonly string[]
  /** By resource. */
  readonly rules: Readonly<Record<string, LockedRules>>
  /** The event types that no resource emits, and the scope that reads each. */
  readonly externalEvents?: Readonly<Record<string, string>>
  /** The vendor of `application/vnd.<vendor>.api.v1+json`. */
  readonly vendor: string
}

/** A break that the team has reviewed and accepted. */
export interface AcceptedBreak {
  /** `YYYY-MM-DD`. */
  readonly date: string
  readonly reason: string
  /** The changes that callers notice, by version. */
  readonly breaks: Readonly<Record<string, readonly string[]>>
}

export interface Lock {
  /** Version of the file format. */
  readonly lock: 1
  /** Oldest first. */
  readonly accepted?: readonly AcceptedBreak[]
  /** By version, oldest first. */
  readonly versions: Readonly<Record<string, VersionPromise>>
}

export const lockOf = (
  versions: ReadonlyMap<string, VersionPromise>,
  accepted: readonly AcceptedBreak[] = [],
): Lock => ({
  lock: 1,
  ...(accepted.length > 0 && { accepted }),
  versions: Object.fromEntries(
    [...versions].map(([name, { fields, document, narrowings, rules, externalEvents, vendor }]) => [
      name,
      {
        fields: withoutDescriptions(fields),
        document: promisedDocument(document),
        ...(narrowings && { narrowings }),
        rules,
        ...(externalEvents && { externalEvents }),
        vendor,
      },
    ]),
  ),
})

/** An invalid lock file. The message says where it is invalid, and how to repair it. */
export class LockError extends Error {
  override readonly name = 'LockError'
}

const REMEDY =
  'Undo the last edit, or restore the committed file. ' +
  'Was it never committed? Delete it, and run `gatehook check --update`.'

/** Parses and validates a lock. Throws a `LockError` that names `file`. */
export function parseLock(text: string, file: string): Lock {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    const merge = /^<{7}/m.test(text) ? ' It contains merge conflict markers.' : ''
    throw new LockError(`${file} is not JSON.${merge} ${REMEDY}`)
  }
  const { lock } = nodeOf(value)
  if (typeof lock === 'number' && lock > 1) {
    throw new LockError(`${file} was written by a newer Gatehook. Run its \`gatehook check\`.`)
  }
  const { value: mistake } = lockMistakes(value).next()
  if (mistake) throw new LockError(`${file} is not a valid lock: ${mistake}. ${REMEDY}`)
  return value as Lock
}

const isObject = (value: unknown): value is Node => nodeOf(value) === value
const isArray = (value: unknown): boolean => Array.isArray(value)
const isText = (value: unknown): boolean => typeof value === 'string'
const isNumber = (value: unknown): boolean => typeof value === 'number'
const NOUNS = new Map<(value: unknown) => boolean, string>([
  [isObject, 'an object'],
  [isArray, 'a list'],
  [isText, 'a text'],
  [isNumber, 'a number'],
])

/** The mistakes of a lock: each a JSON pointer and a sentence. */
type Mistakes = Generator<string, undefined>

/** Yields the members that have another type. */
function* typeMistakes(
  value: unknown,
  types: Readonly<Record<string, (member: unknown) => boolean>>,
  where: string,
): Mistakes {
  for (const [name, isType] of Object.entries(types)) {
    const at = `${where}/${escapePointer(name)}`
    if (!isType(nodeOf(value)[name])) yield `${at} is not ${NOUNS.get(isType)}`
  }
}

/** Returns one type for all members of an object. */
const each = (value: unknown, type: (member: unknown) => boolean) =>
  Object.fromEntries(Object.keys(nodeOf(value)).map((name) => [name, type]))

const membersAt = (value: unknown, where: string): [pointer: string, member: unknown][] =>
  Object.entries(value ?? {}).map(([name, member]) => [`${where}/${escapePointer(name)}`, member])

function* lockMistakes(value: unknown): Mistakes {
  const { lock, versions, accepted = [] } = nodeOf(value)
  if (lock !== 1) yield '#/lock is not 1'
  yield* typeMistakes({ versions, accepted }, { versions: isObject, accepted: isArray }, '#')
  for (const [where, promise] of membersAt(versions, '#/versions')) {
    yield* promiseMistakes(promise, where)
  }
  for (const [where, broken] of membersAt(accepted, '#/accepted')) {
    yield* typeMistakes(broken, { date: isText, reason: isText, breaks: isObject }, where)
  }
}

const PROMISE = {
  fields: isObject,
  document: isObject,
  narrowings: isArray,
  rules: isObject,
  externalEvents: isObject,
  vendor: isText,
}

function* promiseMistakes(value: unknown, where: string): Mistakes {
  const promise: Node = { narrowings: [], externalEvents: {}, ...nodeOf(value) }
  yield* typeMistakes(promise, PROMISE, where)
  const { fields, document, rules } = promise
  yield* typeMistakes(fields, each(fields, isObject), `${where}/fields`)
  for (const [at, specs] of membersAt(fields, `${where}/fields`)) {
    yield* typeMistakes(specs, each(specs, isObject), at)
  }
  for (const [at, each] of membersAt(rules, `${where}/rules`)) yield* ruleMistakes(each, at)
  yield* typeMistakes(document, { paths: isObject }, `${where}/document`)
  yield* referenceMistakes(nodeOf(document), document, `${where}/document`)
}

function* ruleMistakes(value: unknown, where: string): Mistakes {
  const rules: Node = { purgeAfterDays: 1, maxBodyBytes: 1, ...nodeOf(value) }
  const numbers = { purgeAfterDays: isNumber, maxBodyBytes: isNumber }
  const types = { limits: isArray, effects: isArray, ...numbers }
  yield* typeMistakes(rules, types, where)
  for (const [at, limit] of membersAt(rules.limits, `${where}/limits`)) {
    yield* typeMistakes(limit, { fields: isArray }, at)
  }
}

/** An edit by hand can leave a reference without its component. */
function* referenceMistakes(document: Node, value: unknown, where: string): Mistakes {
  if (typeof value !== 'object' || value === null) return
  try {
    resolveRef(document, value)
  } catch (error) {
    yield `${where}/$ref: ${(error as Error).message}`
  }
  for (const [at, member] of membersAt(value, where)) {
    yield* referenceMistakes(document, member, at)
  }
}

/** Serializes a lock so that a change of one part changes only its lines. */
export const serializeLock = (lock: Lock): string => `${serializeJson(lock, '')}\n`

const WIDTH = 100

/** Writes short values on one line each. */
function serializeJson(value: unknown, indent: string): string {
  const short = JSON.stringify(value)
  if (typeof value !== 'object' || value === null) return short
  if (short.length + indent.length <= WIDTH && !short.includes('{', 1)) return short
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    const items = value.map((item) => inner + serializeJson(item, inner))
    return `[\n${items.join(',\n')}\n${indent}]`
  }
  const members = Object.entries(value).map(
    ([name, member]) => `${inner}${JSON.stringify(name)}: ${serializeJson(member, inner)}`,
  )
  return `{\n${members.join(',\n')}\n${indent}}`
}

const withoutDescriptions = (fields: VersionPromise['fields']): VersionPromise['fields'] =>
  Object.fromEntries(
    Object.entries(fields).map(([resource, specs]) => [
      resource,
      Object.fromEntries(
        Object.entries(specs).map(([name, { description: _text, derived: _sql, ...spec }]) => [
          name,
          spec,
        ]),
      ),
    ]),
  )

/** Members for human readers. They may change without notice. */
const annotations = new Set([
  'description',
  'summary',
  'tags',
  'operationId',
  'servers',
  'info',
  'bearerFormat',
  'example',
  'examples',
  'x-errors',
])

/** The members of these objects are names, not keywords. */
const namedMaps = new Set([
  'properties',
  'paths',
  'schemas',
  'parameters',
  'responses',
  'headers',
  'content',
  'securitySchemes',
])
/** Values that are copied as they are. */
const verbatim = new Set(['default', 'enum', 'required', 'type', 'security'])

/** Returns the promised part of a document, with members in alphabetical order. */
const promisedDocument = (document: Node): Node => promisedPart(document, false) as Node

function promisedPart(value: unknown, isNamedMap: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => promisedPart(item, false))
  if (typeof value !== 'object' || value === null) return value
  const node = value as Node
  const isOpenSet = node['x-open-set'] === true
  const promisedMembers = Object.entries(node).filter(
    ([name]) => isNamedMap || !(annotations.has(name) || (isOpenSet && name === 'enum')),
  )
  return Object.fromEntries(
    promisedMembers
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, member]) => [
        name,
        !isNamedMap && verbatim.has(name)
          ? member
          : promisedPart(member, !isNamedMap && namedMaps.has(name)),
      ]),
  )
}
