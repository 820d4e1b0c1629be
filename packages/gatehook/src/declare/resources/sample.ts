/**
 * Sample rows and bodies of a resource in each version, from `.sample()` and the kinds of fields:
 * for test deliveries, OpenAPI and the docs. Pure.
 */

import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { isSameValue, toJson } from '../../protocol/fields/forms.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import type { MemberSpec } from '../../protocol/fields/spec.ts'
import { rowComputer } from './computed.ts'
import { EVERY_SCOPE } from './field-rights.ts'
import { innerReferencesOf } from './inner-references.ts'
import {
  type ActionDefinition,
  type AnyRow,
  type ResourceDefinition,
  STATE_FIELD,
} from './resource.ts'
import type { VersionShape } from './shape.ts'
import { toWire } from './validate.ts'

/** The instant of samples in documents, which do not change from day to day. */
const SAMPLE_AT = Date.parse('2026-06-01T09:30:00.000Z')

/** Beyond the rows that seeds create: the body of a sample repeats no unique value. */
export const SAMPLE_NUMBER = 1000

const DAY_MS = 86_400_000

/** Returns a value that the field accepts. */
export const sampleValue = (name: string, spec: MemberSpec, at = SAMPLE_AT): unknown =>
  fieldKindOf(spec).sample({
    name,
    spec,
    at,
    inside: (member, of) => sampleValue(member, of, at),
  })

/** Returns a row of the newest shape, with references to the first rows. */
export function sampleRow(
  definition: ResourceDefinition,
  { n = SAMPLE_NUMBER, at = SAMPLE_AT } = {},
): AnyRow {
  const { fields, sample } = definition
  const declared: AnyRow = sample?.(n) ?? {}
  let next = at
  const entries = Object.entries(fields).map(([name, spec]): [string, unknown] => {
    if (spec.kind === 'id') return [name, sampleValue(name, spec)]
    if (spec.stamp) return [name, spec.stamp === 'deleted' ? null : at]
    if (declared[name] !== undefined) return [name, declared[name]]
    if (spec.default !== undefined) return [name, spec.default]
    const value = sampleValue(name, spec, next)
    // A period begins before it ends.
    if (fieldKindOf(spec).isMoment) next += DAY_MS
    return [name, value]
  })
  return rowComputer(definition, true)(Object.fromEntries(entries) as AnyRow)
}

/** Returns a sample row as responses of the version contain it, for a caller with every scope. */
export const sampleWire = (definition: ResourceDefinition, shape: VersionShape): AnyRow =>
  JSON.parse(shape.as(EVERY_SCOPE).encode(sampleRow(definition))) as AnyRow

/** Returns a sample row with all of its fields, as bodies of the version contain them. */
const sampleBody = (definition: ResourceDefinition, shape: VersionShape, n?: number): AnyRow => {
  const row = sampleRow(definition, n === undefined ? {} : { n })
  return JSON.parse(JSON.stringify(toWire(shape.specs, shape.chain.down(row)))) as AnyRow
}

const writable = (specs: FieldSpecs): [name: string, spec: FieldSpec][] =>
  Object.entries(specs).filter(([, spec]) => spec.write !== 'never')

/** Returns a body that creates a row: required fields, and others that differ from the default. */
export function sampleCreate(
  definition: ResourceDefinition,
  shape: VersionShape,
  n?: number,
): AnyRow {
  const row = sampleBody(definition, shape, n)
  const members = writable(shape.specs).filter(
    ([name, spec]) => spec.write === 'required' || !isSameValue(row[name], spec.default ?? null),
  )
  return Object.fromEntries(members.map(([name]) => [name, row[name]])) as AnyRow
}

/** The samples among which a changed value is looked for. */
const ATTEMPTS = 8

/**
 * Returns a merge patch with one value that differs from the sample row. Fields that clients can
 * change in every state come first.
 */
export function samplePatch(definition: ResourceDefinition, shape: VersionShape): AnyRow {
  const { fields, editable } = definition
  const limited = new Set(editable.flatMap((rule) => rule.fields))
  const row = sampleBody(definition, shape)
  const newestOf = (name: string): string => shape.chain.renamed[name] ?? name
  const candidates = writable(shape.specs).filter(
    ([name, spec]) =>
      spec.kind !== 'ref' &&
      innerReferencesOf({ [name]: spec }).length === 0 &&
      [spec, fields[newestOf(name)]].every((field) => !field?.unique && !field?.isWriteOnce),
  )
  const free = candidates.filter(([name]) => !limited.has(newestOf(name)))
  for (const [name] of [...free, ...candidates]) {
    for (let n = SAMPLE_NUMBER + 1; n <= SAMPLE_NUMBER + ATTEMPTS; n++) {
      const value = sampleBody(definition, shape, n)[name]
      if (value !== null && !isSameValue(value, row[name])) return { [name]: value }
    }
  }
  const [name, spec] = candidates[0] ?? []
  return name === undefined ? {} : { [name]: row[name] ?? sampleValue(name, spec!) }
}

/** Returns the body of an action; undefined for an action without input. */
export function sampleInput({ input }: Pick<ActionDefinition, 'input'>): AnyRow | undefined {
  const members = Object.entries(input)
  if (members.length === 0) return undefined
  const values = members.map(([name, spec]) => [name, sampleMember(name, spec)])
  return Object.fromEntries(values) as AnyRow
}

/** Returns a value of the field as bodies contain it: an instant in ISO 8601. */
export function sampleMember(name: string, spec: FieldSpec): unknown {
  return toJson(spec, sampleValue(name, spec))
}

/** Returns the row after an event of the type: in the state to which the action leads. */
export function sampleAfter(definition: ResourceDefinition, type: string, row: AnyRow): AnyRow {
  const to = definition.actions.find(({ emits }) => emits === type)?.to
  return to === undefined ? row : { ...row, [STATE_FIELD]: to }
}
