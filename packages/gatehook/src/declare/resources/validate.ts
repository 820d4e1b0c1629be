/**
 * Validates bodies against a declaration. A 422 reports all errors, each with a JSON pointer
 * (§10.2). Valid bodies become values of rows, with times in epoch milliseconds. Pure.
 */

import { Failure, type FieldError } from '../../kernel/failure.ts'
import { fieldFailure } from '../../protocol/fields/body.ts'
import { formOf, toJson } from '../../protocol/fields/forms.ts'
import { isMerged, mergeValue, patchSpecs } from '../../protocol/fields/merge-patch.ts'
import { createObjectReader } from '../../protocol/fields/reader.ts'
import { changeableSpecs, type FieldSpecs } from '../../protocol/fields/schema.ts'
import type { MemberSpecs } from '../../protocol/fields/spec.ts'
import type { AnyRow } from './resource.ts'

/** Validates a body and returns its values as rows have them. Throws `validation_failed`. */
type Validate = (body: unknown) => AnyRow

export interface Validators {
  /** Validates a body that creates a row, and adds defaults. */
  readonly create: Validate
  /** Validates a merge patch. Returns the sent fields only. */
  readonly patch: Validate
  /**
   * Merges the objects of a valid patch into those of the row. Throws `validation_failed` for a
   * result that lacks a member or has too many.
   */
  readonly merge: (row: AnyRow, patch: AnyRow) => AnyRow
  /**
   * Validates values converted from another version: any field of the shape, none required.
   * Returns them as a body of this version would have them.
   */
  readonly converted: (row: AnyRow) => { values: AnyRow; errors: readonly FieldError[] }
}

/** Members of responses that a client can send back (§8.8). */
const IGNORED_MEMBERS = ['_links', '_warnings', '_dry_run']

const READ_ONLY = 'is set by the service'
/** Returns the rest of a sentence about a field that the caller cannot write. */
export const lockedMessage = (scope: string): string => `needs the scope ${scope}`
/** The rest of a sentence about a field that clients only set in the body that creates the row. */
export const FIXED = 'is fixed since the row exists'

/** @param locked the scope that the caller lacks to write each field */
export function createValidators(
  specs: FieldSpecs,
  locked: ReadonlyMap<string, string> = new Map(),
): Validators {
  const entries = Object.entries(specs)
  const isWritable = ([name, { write }]: (typeof entries)[number]) =>
    write !== 'never' && !locked.has(name)
  const writable = Object.fromEntries(entries.filter(isWritable))
  const readOnly = new Map(
    entries
      .filter((entry) => !isWritable(entry))
      .map(([name, { write }]) => [
        name,
        write === 'never' ? READ_ONLY : lockedMessage(locked.get(name)!),
      ]),
  )
  const fixed = entries.filter(([, { isWriteOnce }]) => isWriteOnce)
  const validator = (members: MemberSpecs, readOnly: ReadonlyMap<string, string>): Validate => {
    const read = createObjectReader({ members, ignored: IGNORED_MEMBERS, readOnly })
    return (body) => {
      const { values, errors } = read(body)
      if (errors.length > 0) throw validationFailure(errors)
      return values
    }
  }
  const create = validator(writable, readOnly)
  const changeable = changeableSpecs(writable)
  const unchangeable = new Map([...readOnly, ...fixed.map(([name]) => [name, FIXED] as const)])
  const defaults = defaultsOf(specs)
  const readConverted = createObjectReader({ members: optionalSpecs(specs) })
  return {
    create: (body) => ({ ...defaults, ...create(body) }),
    patch: validator(patchSpecs(changeable), unchangeable),
    merge: mergerOf(changeable),
    converted: (row) => readConverted(toWire(specs, row)),
  }
}

const optionalSpecs = (specs: FieldSpecs): FieldSpecs =>
  Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => [name, { ...spec, write: 'optional' as const }]),
  )

function mergerOf(specs: FieldSpecs): Validators['merge'] {
  const merged = Object.entries(specs).filter(([, spec]) => isMerged(spec))
  if (merged.length === 0) return (_row, patch) => patch
  const read = createObjectReader({ members: optionalSpecs(Object.fromEntries(merged)) })
  return (row, patch) => {
    const sent = merged.filter(([name]) => Object.hasOwn(patch, name))
    const values = sent.map(([name, spec]): [string, unknown] => [
      name,
      toJson(spec, mergeValue(spec, row[name], patch[name])),
    ])
    const { values: valid, errors } = read(Object.fromEntries(values))
    if (errors.length > 0) throw validationFailure(errors)
    return { ...patch, ...valid }
  }
}

/**
 * Returns the failure with other errors. A sentence that follows from the first error follows from
 * that of the others; one that own code wrote stays.
 */
export function replaceErrors(
  { code, message, errors = [], options, detail }: Failure,
  replaced: readonly FieldError[],
): Failure {
  const isOwn = errors.length > 0 && fieldFailure(code, errors).message !== message
  const sentence = isOwn || replaced.length === 0 ? message : fieldFailure(code, replaced).message
  return new Failure(code, sentence, { ...options, errors: replaced, detail })
}

export const validationFailure = (errors: readonly FieldError[]): Failure =>
  fieldFailure('validation_failed', errors)

/** Returns the values of omitted fields. */
export const defaultsOf = (specs: FieldSpecs): AnyRow =>
  Object.fromEntries(
    Object.entries(specs)
      .filter(([, spec]) => spec.default !== undefined || spec.nullable)
      .map(([name, spec]) => [name, spec.default ?? null]),
  )

/** Converts JSON values to those of a row. */
export function parseWire(specs: FieldSpecs, wire: AnyRow): AnyRow {
  const row: AnyRow = {}
  for (const [name, value] of Object.entries(wire)) {
    const json = specs[name] && formOf(specs[name]).json
    row[name] = json && value !== null ? json.from(value) : value
  }
  return row
}

/** Converts values of a row to JSON values. */
export function toWire(specs: FieldSpecs, row: AnyRow): AnyRow {
  const wire: AnyRow = {}
  for (const [name, value] of Object.entries(row)) {
    wire[name] = specs[name] ? toJson(specs[name], value) : value
  }
  return wire
}
