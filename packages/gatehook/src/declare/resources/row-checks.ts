/**
 * The checks of a row before it is stored, beyond the shape of its fields: the declared rules,
 * references and uniqueness. They apply to the newest shape only.
 */
import type { Failure, FieldError } from '../../kernel/failure.ts'
import type { RowId } from '../../kernel/row-id.ts'
import { ConstraintError, type Tx } from '../../platform/storage/database.ts'
import { runTogether } from '../../platform/storage/together.ts'
import { fieldFailure } from '../../protocol/fields/body.ts'
import { ERRORS_MAX } from '../../protocol/fields/object-reader.ts'
import { listInputs } from './computed.ts'
import { idsInside, innerReferencesOf } from './inner-references.ts'
import { ownerField, owningField, type RowReach } from './ownership.ts'
import type { AnyRow, ResourceDefinition } from './resource.ts'
import type { RowStore } from './store.ts'
import { uniqueName, uniqueTuples } from './table.ts'
import { validationFailure } from './validate.ts'

export interface RowChecks {
  /** Applies `.check(…)`. Throws `validation_failed` with the invalid fields. */
  checkRules(row: AnyRow): void
  /**
   * Applies `.check(…)` to a row whose computed values are missing or rejected by their fields, and
   * skips the checks that read a missing value.
   */
  checkUncomputed(row: AnyRow): void
  /**
   * Requires that each reference names a row of the same customer and mode (§6.4). A person can
   * refer to rows within its reach only, and cannot give its rows to another person (§6.7).
   */
  checkReferences(tx: Tx, reach: RowReach, values: AnyRow): Promise<void>
  /** Requires it of the fields that are references. On PostgreSQL it is one round trip. */
  checkFields(tx: Tx, reach: RowReach, values: AnyRow): Promise<void>
  /** Requires it of references inside values (§15.9). */
  checkInner(tx: Tx, reach: RowReach, values: AnyRow): Promise<void>
  /**
   * The same before the rules, which read those rows. It locks none: rules often lock them for
   * changes, and two transactions that hold one row would wait for each other.
   */
  checkInnerFirst(tx: Tx, reach: RowReach, values: AnyRow): Promise<void>
  /** Runs a change. A duplicate of a unique value is a `conflict` that names its field. */
  checkUnique<T>(change: () => Promise<T>): Promise<T>
}

const foreignMessage = (target: string) => `is not the id of a row of ${target}`

/** The mistake of a person in the field that leads to the owner. */
const ownMessage = (definition: ResourceDefinition, target: string): string =>
  ownerField(definition) === undefined
    ? `must be the id of a row of ${target} that belongs to you`
    : 'must be your own id'

/** @param storeOf returns the rows of a resource by name */
export function createRowChecks(
  definition: ResourceDefinition,
  storeOf: (resource: string) => RowStore,
): RowChecks {
  const { name, checks, computations } = definition
  const uniques = uniqueTuples(definition)
  const retiredName = retiredNames(definition)
  const references = Object.entries(definition.fields).filter(([, spec]) => spec.kind === 'ref')
  const owning = owningField(definition)
  const checkInner = innerCheck(definition, storeOf, 'holdAll')
  const checkFields: RowChecks['checkFields'] = async (tx, { scope, owner, refersTo }, values) => {
    const wholeScope = { scope, owner: undefined }
    const check = async ([field, { target }]: (typeof references)[number]) => {
      const id = values[field] as RowId | null | undefined
      const isLimited = field === owning && owner !== undefined
      if (id === undefined || (id === null && !isLimited)) return
      const reach = isLimited ? { scope, owner } : refersTo ? refersTo(target!) : wholeScope
      if (id !== null && reach && (await storeOf(target!).hold(tx, reach, id))) return
      const message = isLimited ? ownMessage(definition, target!) : foreignMessage(target!)
      const code = id === null ? 'required' : 'not_found'
      throw validationFailure([{ pointer: `/${field}`, code, message }])
    }
    await runTogether(tx, ...references.map((reference) => () => check(reference)))
  }
  return {
    checkFields,
    checkInner,
    checkInnerFirst: innerCheck(definition, storeOf, 'existing'),
    checkRules(row) {
      for (const check of checks) {
        const errors = check(row)
        if (errors.length > 0) throw checkFailure(definition, errors, row)
      }
    },
    checkUncomputed(row) {
      const present = new Proxy(row, {
        get(values, field) {
          if (Object.hasOwn(computations, field) && !(field in values)) throw new Error('no value')
          return Reflect.get(values, field)
        },
      })
      for (const check of checks) {
        let errors: readonly FieldError[] = []
        try {
          errors = check(present)
        } catch {
          // It reads a value that the row lacks.
        }
        if (errors.length > 0) throw checkFailure(definition, errors, row)
      }
    },
    async checkReferences(tx, reach, values) {
      await checkFields(tx, reach, values)
      await checkInner(tx, reach, values)
    },
    async checkUnique(change) {
      try {
        return await change()
      } catch (error) {
        if (!(error instanceof ConstraintError) || error.kind !== 'unique') throw error
        const tuple = uniques.find(
          (fields) =>
            error.isOf(uniqueName(name, ...fields)) ||
            error.isOf(uniqueName(name, ...fields.map(retiredName))),
        )
        if (!tuple) throw error
        throw fieldFailure('conflict', tuple.map(takenError(tuple)))
      }
    },
  }
}

/** Returns the function that requires the rows to which references inside values refer. */
function innerCheck(
  { fields }: ResourceDefinition,
  storeOf: (resource: string) => RowStore,
  method: 'holdAll' | 'existing',
): RowChecks['checkInner'] {
  const references = innerReferencesOf(fields)
  return async (tx, { scope, refersTo }, values) => {
    const errors: FieldError[] = []
    for (const { field, steps, spec } of references) {
      const ids = idsInside(values[field], steps)
      if (ids.size === 0) continue
      const target = spec.target!
      const reach = refersTo ? refersTo(target) : { scope, owner: undefined }
      const existing = reach ? await storeOf(target)[method](tx, reach, [...ids.keys()]) : new Set()
      for (const [id, pointers] of ids) {
        if (existing.has(id)) continue
        const message = foreignMessage(target)
        for (const pointer of pointers) {
          errors.push({ pointer: `/${field}${pointer}`, code: 'not_found', message })
        }
      }
    }
    if (errors.length > 0) throw validationFailure(errors.slice(0, ERRORS_MAX))
  }
}

/** A retired column that is renamed has its unique index, whose violation is of the new field. */
function retiredNames({ changes, retired }: ResourceDefinition): (field: string) => string {
  const pairs = changes.flatMap(({ renamed = {} }) => Object.entries(renamed))
  const olds = new Map(
    pairs.filter(([old]) => retired.includes(old)).map(([old, now]) => [now, old]),
  )
  return (field) => olds.get(field) ?? field
}

/** Returns the failure of a check. It names the inputs of a computed field: no client writes it. */
function checkFailure(
  definition: ResourceDefinition,
  errors: readonly FieldError[],
  row: AnyRow,
): Failure {
  const pointers = new Map<string, FieldError>()
  for (const error of errors) {
    const field = error.pointer?.slice(1) ?? ''
    const isComputed = Object.hasOwn(definition.computations, field)
    const inputs = isComputed
      ? [...listInputs(definition, field, row)].filter((input) => isWritten(definition, input))
      : [field]
    for (const input of inputs) {
      const pointer = input === '' ? '' : `/${input}`
      if (!pointers.has(pointer)) pointers.set(pointer, { ...error, pointer })
    }
    if (inputs.length === 0 && pointers.size === 0) pointers.set('', { ...error, pointer: '' })
  }
  return validationFailure([...pointers.values()])
}

const isWritten = ({ fields }: ResourceDefinition, field: string): boolean =>
  fields[field] !== undefined && fields[field].write !== 'never'

const takenError =
  ({ length }: readonly string[]) =>
  (field: string): FieldError => {
    const message = `is taken already${length > 1 ? ' in this combination' : ''}`
    return { pointer: `/${field}`, code: 'conflict', message }
  }
