/** Verifies the names of columns in the expressions of derived fields, without a database. */
import { closestClause } from '../../kernel/closest.ts'
import { findUnknownNames } from '../../platform/storage/unknown-names.ts'
import type { DeclarationMistake } from '../../protocol/fields/declaration-mistakes.ts'
import { derivationSite } from '../../protocol/fields/f.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { tableFields } from './computed.ts'
import { findFieldMistakes } from './field-check.ts'

/**
 * Returns a mistake for each name in the expressions of derived fields that is no column, at the
 * call of `f.derived()`.
 */
export function findUnknownColumns(
  resource: string,
  fields: Readonly<Record<string, FieldSpec>>,
): DeclarationMistake[] {
  const columns = tableFields(fields).map(([name]) => name)
  return Object.entries(fields).flatMap(([field, spec]) => {
    // Other mistakes of the field come before.
    if (spec.computed !== 'derived' || findFieldMistakes(field, spec).length > 0) return []
    return findUnknownNames(spec.derived!.sqlite, columns).map((name) => {
      const why = Object.hasOwn(fields, name)
        ? `the field ${name} is no column`
        : `there is no column ${name}${closestClause(name, columns)}`
      const sentence = `resource ${resource}: field ${field}: f.derived(): ${why}`
      return { sentence, site: derivationSite.get(spec.derived!) }
    })
  })
}
