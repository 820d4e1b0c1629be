/**
 * What a row has to pass before it is stored, beyond the shape of its fields: the declaration's own
 * rules, references, uniqueness. Knows the newest shape only.
 */
import type { FieldError } from '../kernel/failure.ts'
import { ConstraintError, type Tx } from '../storage/database.ts'
import { owningField, type RowReach } from './ownership.ts'
import type { AnyRow, Definition } from './resource.ts'
import type { RowStore } from './store.ts'
import { uniqueName } from './table.ts'
import { fieldFailure, validationFailure } from './validate.ts'

export interface Checks {
  /** `.check(…)`: throws `validation_failed` with the fields at fault. */
  rules(row: AnyRow): void
  /**
   * Each id that is about to be stored names a row of the same customer and mode (§6.4). A person
   * refers to rows within its reach only, and gives its rows to no other person (§6.7).
   */
  references(tx: Tx, reach: RowReach, values: AnyRow): Promise<void>
  /** Runs a change; a value that is taken is a `conflict` that names its field. */
  unique<T>(change: () => Promise<T>): Promise<T>
}

/** `storeOf`: the rows of a resource by name. */
export function createChecks(
  definition: Definition,
  storeOf: (resource: string) => RowStore,
): Checks {
  const { name, fields, checks } = definition
  const references = Object.entries(fields).filter(([, spec]) => spec.kind === 'ref')
  const owning = owningField(definition)
  return {
    rules(row) {
      for (const rule of checks) {
        const errors = Object.entries(rule(row) ?? {}).map(
          ([field, message]): FieldError => ({
            pointer: `/${field}`,
            code: 'invalid_value',
            message,
          }),
        )
        if (errors.length > 0) throw validationFailure(errors)
      }
    },
    async references(tx, { scope, owner, refersTo }, values) {
      const all = { scope, owner: undefined }
      for (const [field, spec] of references) {
        const id = values[field] as number | null | undefined
        const limited = field === owning && owner !== undefined
        if (id === undefined || (id === null && !limited)) continue
        const target = limited ? { scope, owner } : refersTo ? refersTo(spec.target!) : all
        if (id !== null && target && (await storeOf(spec.target!).hold(tx, target, id))) continue
        const message = `names no row of ${spec.target}`
        throw validationFailure([{ pointer: `/${field}`, code: 'not_found', message }])
      }
    },
    async unique(change) {
      try {
        return await change()
      } catch (error) {
        if (!(error instanceof ConstraintError) || error.kind !== 'unique') throw error
        const field = Object.keys(fields).find((one) => uniqueName(name, one) === error.index)
        if (field === undefined) throw error
        const message = 'is taken already'
        throw fieldFailure('conflict', [{ pointer: `/${field}`, code: 'conflict', message }])
      }
    },
  }
}
