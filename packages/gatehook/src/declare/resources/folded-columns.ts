/**
 * The columns with the folded texts of e-mail fields, which filters and unique indexes compare
 * (§4.8). The store of the rows writes them with their fields; no caller sees them. A migration of
 * the service can change an address without them, so the start folds the rows again
 * (`computed-fill.ts`). Pure.
 */

import type { Value } from '../../platform/storage/database.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { foldedColumn, foldName } from '../../protocol/fields/folding.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import { tableFields } from './computed.ts'

interface FoldedColumn {
  readonly field: string
  readonly column: string
  /** The specification of the column. NULL also if another program has written the address. */
  readonly spec: FieldSpec
}

export const foldCell = (cell: Value): Value => (typeof cell === 'string' ? foldName(cell) : null)

export const foldedColumns = (fields: Readonly<Record<string, FieldSpec>>): FoldedColumn[] =>
  tableFields(fields)
    .filter(([, spec]) => fieldKindOf(spec).isFolded)
    .map(([field, { default: value }]) => {
      const fallback = typeof value === 'string' ? { default: foldName(value) } : {}
      const spec: FieldSpec = { kind: 'string', nullable: true, write: 'never', ...fallback }
      return { field, column: foldedColumn(field), spec }
    })

/** Returns the column that filters and unique indexes compare. */
export const comparedName = (fields: Readonly<Record<string, FieldSpec>>, field: string): string =>
  fields[field] && fieldKindOf(fields[field]).isFolded ? foldedColumn(field) : field
