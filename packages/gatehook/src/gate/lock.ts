/**
 * `api.lock.json`: what every version promised when it was last agreed on. The documents without
 * the words for people, and the fields they were made from. Pure; reading and writing the file is
 * the command's.
 */
import { type Node, nodeOf, resolved } from './document.ts'

/** A field as declared; the gate knows what a stub needs of it. */
export interface FieldData {
  readonly kind: string
  readonly write: 'required' | 'optional' | 'never'
  readonly nullable: boolean
  readonly default?: string | number | boolean | null
  readonly min?: number
  readonly max?: number
  readonly values?: readonly string[]
  readonly target?: string
  readonly stamp?: string
  readonly description?: string
}

export type FieldsData = Readonly<Record<string, FieldData>>

export interface Promised {
  /** By resource, as this version shows it. */
  readonly fields: Readonly<Record<string, FieldsData>>
  /** OpenAPI 3.1. */
  readonly document: Node
}

export interface Lock {
  /** Of the file's form. */
  readonly lock: 1
  /** By version, oldest first. */
  readonly versions: Readonly<Record<string, Promised>>
}

export const lockOf = (versions: ReadonlyMap<string, Promised>): Lock => ({
  lock: 1,
  versions: Object.fromEntries(
    [...versions].map(([name, { fields, document }]) => [
      name,
      { fields: withoutWords(fields), document: normalDocument(document) },
    ]),
  ),
})

/** What is wrong with the file, in a sentence. */
export class LockError extends Error {
  override readonly name = 'LockError'
}

/** Throws a `LockError`. */
export function readLock(text: string, file: string): Lock {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    const merge = /^<{7}/m.test(text) ? ' It holds the marks of a merge.' : ''
    throw new LockError(`${file} is not JSON.${merge} Take the version of the main branch back.`)
  }
  const { lock, versions } = nodeOf(value)
  if (typeof lock === 'number' && lock > 1) {
    throw new LockError(`${file} was written by a newer Gatehook. Check with that one.`)
  }
  const whole = isObject(versions) && Object.values(versions).every(isPromise)
  if (lock !== 1 || !whole) {
    throw new LockError(`${file} is not a whole lock. Take the version of the main branch back.`)
  }
  return value as Lock
}

const isObject = (value: unknown): value is Node => nodeOf(value) === value

function isPromise(value: unknown): boolean {
  const { fields, document } = nodeOf(value)
  if (!isObject(fields) || !isObject(document) || !isObject(document.paths)) return false
  const specs = Object.values(fields).flatMap((one) => (isObject(one) ? Object.values(one) : [one]))
  return specs.every(isObject) && leadsSomewhere(document, document)
}

/** Whether every reference does: who edits a lock by hand tears them. */
function leadsSomewhere(document: Node, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  try {
    resolved(document, value)
  } catch {
    return false
  }
  return Object.values(value).every((one) => leadsSomewhere(document, one))
}

/** Stable text: what did not change stands where it stood. */
export const lockText = (lock: Lock): string => `${shown(lock, '')}\n`

const WIDTH = 100

/** JSON whose short values stand on one line each. */
function shown(value: unknown, indent: string): string {
  const short = JSON.stringify(value)
  if (typeof value !== 'object' || value === null) return short
  if (short.length + indent.length <= WIDTH && !short.includes('{', 1)) return short
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    return `[\n${value.map((one) => inner + shown(one, inner)).join(',\n')}\n${indent}]`
  }
  const members = Object.entries(value).map(
    ([name, one]) => `${inner}${JSON.stringify(name)}: ${shown(one, inner)}`,
  )
  return `{\n${members.join(',\n')}\n${indent}}`
}

const withoutWords = (fields: Promised['fields']): Promised['fields'] =>
  Object.fromEntries(
    Object.entries(fields).map(([resource, specs]) => [
      resource,
      Object.fromEntries(
        Object.entries(specs).map(([name, { description: _words, ...spec }]) => [name, spec]),
      ),
    ]),
  )

/** Said to people: no promise to a program. */
const words = ['description', 'summary', 'tags', 'operationId', 'servers', 'info', 'example']
const further = ['examples', 'externalDocs', '$comment', 'bearerFormat']
const unpromised = new Set([...words, ...further])

/** Members of these are names, not words of OpenAPI. */
const named = new Set([
  ...['properties', 'patternProperties', '$defs', 'dependentRequired', 'dependentSchemas'],
  ...['paths', 'webhooks', 'schemas', 'parameters', 'responses', 'headers', 'content'],
  ...['securitySchemes', 'requestBodies', 'scopes', 'flows', 'pathItems'],
])
/** Values of callers, whatever they look like. */
const verbatim = new Set(['default', 'const', 'enum', 'required', 'type', 'security'])

/** The document without what breaks nobody, members in one order. */
export const normalDocument = (document: Node): Node => normal(document, false) as Node

function normal(value: unknown, names: boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => normal(one, false))
  if (typeof value !== 'object' || value === null) return value
  const node = value as Node
  const open = node['x-open-set'] === true
  const kept = Object.entries(node).filter(
    ([name]) => names || !(unpromised.has(name) || (open && name === 'enum')),
  )
  return Object.fromEntries(
    kept
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, one]) => [
        name,
        !names && verbatim.has(name) ? one : normal(one, !names && named.has(name)),
      ]),
  )
}
