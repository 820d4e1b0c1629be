/** The types of the columns that store the values of fields. */
import type { ColumnType } from '../../platform/storage/database.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import type { MemberSpec } from '../../protocol/fields/spec.ts'

/** Returns the type of the column of a field: an id with a prefix is a text. */
export const columnType = (spec: Pick<MemberSpec, 'kind' | 'idPrefix'>): ColumnType =>
  spec.idPrefix === undefined ? fieldKindOf(spec).column : 'text'
