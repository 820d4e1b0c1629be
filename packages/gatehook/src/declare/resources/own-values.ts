/**
 * Validates the values that own code writes by the rules of their fields. A violation is a bug of
 * that code: the request is 500, its log line names the declaration, and no row changes. Pure.
 */
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { isSameValue } from '../../protocol/fields/forms.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import { stateFieldOf } from './action.ts'
import type { AnyRow } from './resource.ts'
import type { VersionShape } from './shape.ts'
import { createValidators, defaultsOf } from './validate.ts'

/** Returns the values of a new row, without those of defaults and stamps. */
export function readNewValues(shape: VersionShape, source: string, values: AnyRow): AnyRow {
  const valid = readChangedValues(shape, source, values)
  for (const [name, spec] of Object.entries(shape.specs)) {
    if (isSetByEngine(spec)) {
      if (name in valid) throw violation(source, `${name} ${BY_ENGINE}`)
    } else if (!(name in valid || name in shape.defaults))
      throw violation(source, `${name} is required`)
  }
  return valid
}

/** Returns the values to change. A value of `undefined` is no change. */
export function readChangedValues(shape: VersionShape, source: string, changes: AnyRow): AnyRow {
  if (typeof (changes as { then?: unknown }).then === 'function') {
    throw violation(source, 'it returns a promise; it must be synchronous')
  }
  const defined = Object.entries(changes).filter(([, value]) => value !== undefined)
  const { values, errors } = shape.validators.converted(Object.fromEntries(defined))
  const [mistake] = errors
  if (mistake) throw violation(source, `${mistake.pointer?.slice(1)} ${mistake.message}`)
  return values
}

const BY_ENGINE = 'is set by the service'

/** Whether the engine sets the field in each change, whatever own code returns. */
const isSetByEngine = ({ kind, stamp, computed }: FieldSpec): boolean =>
  kind === 'id' || stamp !== undefined || computed !== undefined

/**
 * Returns the values to change of a row, without those that the engine sets: own code may return
 * the whole row. Another id, creation or deletion is a violation. The time of the last change, and
 * computed values, may be older: those of a row that own code has read before.
 */
export function readRowChanges(
  shape: VersionShape,
  source: string,
  changes: AnyRow,
  row: AnyRow,
): AnyRow {
  const values = Object.entries(readChangedValues(shape, source, changes))
  for (const [name, value] of values) {
    const spec = shape.specs[name]!
    const isConstant = isSetByEngine(spec) && !spec.computed && spec.stamp !== 'updated'
    if (isConstant && !isSameValue(value, row[name])) {
      throw violation(source, `${name} ${BY_ENGINE}`)
    }
  }
  const changed = values.filter(([name]) => !isSetByEngine(shape.specs[name]!))
  return Object.fromEntries(changed) as AnyRow
}

/**
 * Returns the reader of the members of an object, such as the input of a job. It adds defaults.
 */
export function memberReader(specs: FieldSpecs): (source: string, values: AnyRow) => AnyRow {
  const validators = createValidators(specs)
  const defaults = defaultsOf(specs)
  return (source, values) => {
    const unknown = Object.keys(values).find((name) => !Object.hasOwn(specs, name))
    if (unknown !== undefined) throw violation(source, `there is no member ${unknown}`)
    const defined = Object.entries(values).filter(([, value]) => value !== undefined)
    const { values: valid, errors } = validators.converted(Object.fromEntries(defined))
    const [mistake] = errors
    if (mistake) throw violation(source, `${mistake.pointer?.slice(1)} ${mistake.message}`)
    const complete = { ...defaults, ...valid }
    const missing = Object.keys(specs).find((field) => !(field in complete))
    if (missing !== undefined) throw violation(source, `${missing} is required`)
    return complete
  }
}

/** Throws for values that would change the state of a row beside its actions (§15.2). */
export function requireNoState(
  definition: Parameters<typeof stateFieldOf>[0],
  source: string,
  values: AnyRow,
): void {
  const field = stateFieldOf(definition)
  if (field === undefined || !(field in values)) return
  throw violation(source, `${field} changes by an action: tx.act(…)`)
}

const violation = (source: string, mistake: string): Error =>
  new Error(`${source} violates the declaration: ${mistake}`)
