/** The types of the columns that store the values of fields. */

import type { ColumnType } from '../../platform/storage/database.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import type { FieldKind } from '../../protocol/fields/spec.ts'

export const columnTypes: Readonly<Record<FieldKind, ColumnType>> = {
  id: 'int',
  ref: 'int',
  int: 'int',
  bool: 'int',
  time: 'int',
  number: 'real',
  string: 'text',
  email: 'text',
  url: 'text',
  currency: 'text',
  oneOf: 'text',
  date: 'text',
  timeOfDay: 'text',
  duration: 'int',
  decimal: 'int',
  uuid: 'text',
  pattern: 'text',
  object: 'text',
  list: 'text',
  metadata: 'text',
  json: 'text',
}

/** Returns the type of the column of a field: an id with a prefix is a text. */
export const columnType = ({ kind, idPrefix }: Pick<FieldSpec, 'kind' | 'idPrefix'>): ColumnType =>
  idPrefix === undefined ? columnTypes[kind] : 'text'
