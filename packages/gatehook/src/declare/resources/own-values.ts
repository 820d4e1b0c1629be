/**
 * Validates the values that own code writes by the rules of their fields. A violation is a bug of
 * that code: the request is 500, its log line names the declaration, and no row changes. Pure.
 */
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import { stateFieldOf } from './action.ts'
import type { AnyRow } from './resource.ts'
import type { VersionShape } from './shape.ts'
import { createValidators, defaultsOf } from './validate.ts'

/** Returns the values of a new row, without those of defaults and stamps. */
export function readNewValues(shape: VersionShape, source: string, values: AnyRow): AnyRow {
  const valid = readChangedValues(shape, source, values)
  if ('id' in valid) throw violation(source, 'id is set by the service')
  for (const [name, spec] of Object.entries(shape.specs)) {
    const isSet =
      name in valid || name in shape.defaults || spec.stamp || spec.kind === 'id' || spec.computed
    if (!isSet) throw violation(source, `${name} is required`)
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

/**
 * Returns the values to change of a row, without its id and the times of its creation and of its
 * last change: own code may return the whole row. Another id is a violation.
 */
export function readRowChanges(
  shape: VersionShape,
  source: string,
  changes: AnyRow,
  row: AnyRow | undefined,
): AnyRow {
  const { id = row?.id, ...values } = readChangedValues(shape, source, changes)
  if (id !== row?.id) throw violation(source, 'the id of a row never changes')
  const isSet = ([name]: [string, unknown]) => {
    const { stamp } = shape.specs[name]!
    return stamp === undefined || stamp === 'deleted'
  }
  return Object.fromEntries(Object.entries(values).filter(isSet)) as AnyRow
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
