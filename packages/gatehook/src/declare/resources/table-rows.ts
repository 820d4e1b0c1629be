/**
 * The SQL of `table(…)` in own code (§15.4): the rows of a resource in reach, or the items of
 * one of their lists.
 */
import { type DatabaseName, jsonItemsOf } from '../../platform/storage/expressions.ts'
import { join, raw, type Sql, sql } from '../../platform/storage/sql.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import type { MemberSpec } from '../../protocol/fields/spec.ts'
import { ownerCondition } from '../../protocol/lists/collection.ts'
import type { RowScope } from '../../protocol/lists/page.ts'
import { columnType } from './column-types.ts'
import { columnFields } from './computed.ts'
import { selectTerms } from './derived.ts'
import type { TableReference } from './own-sql.ts'
import { ownerPathOf } from './ownership.ts'
import type { ResourceDefinition } from './resource.ts'
import { LIVE_ROWS } from './soft-deletion.ts'

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

const readableColumns = ({ fields }: ResourceDefinition) =>
  columnFields(fields).filter(([, { isWriteOnly }]) => !isWriteOnly)

/** Returns the names of the columns of `tableSql`. */
export function tableColumns(definition: ResourceDefinition, { items }: TableReference): string[] {
  if (items === undefined) return readableColumns(definition).map(([name]) => name)
  const { members } = definition.fields[items]!.items!
  return [`${definition.name}_id`, ...(members ? Object.keys(members) : ['value'])]
}

/** Returns a subquery with its name. */
export function tableSql(
  definition: ResourceDefinition,
  resources: readonly ResourceDefinition[],
  { scope, owner }: RowScope,
  { alias, items }: TableReference,
  database: DatabaseName,
): Sql {
  const path = ownerPathOf(definition, resources)
  const conditions = [sql`scope = ${scope}`]
  if (definition.softDeletion) conditions.push(raw(LIVE_ROWS))
  if (owner !== undefined) conditions.push(ownerCondition(path!, scope, owner))
  const terms = raw(selectTerms(readableColumns(definition), database))
  const rows = sql`SELECT ${terms} FROM ${raw(definition.name)} WHERE ${join(conditions, ' AND ')}`
  const query = items === undefined ? rows : itemsOf(definition, items, rows, database)
  return sql`(${query}) AS ${raw(quoted(alias))}`
}

function itemsOf(
  { name, fields }: ResourceDefinition,
  field: string,
  rows: Sql,
  database: DatabaseName,
): Sql {
  const { members } = (fields[field] as FieldSpec).items!
  const { each, member, whole } = jsonItemsOf(database)
  const terms = members
    ? Object.entries(members).map(
        ([key, spec]) => `${member(key, itemType(spec))} AS ${quoted(key)}`,
      )
    : [`${whole(itemType(fields[field]!.items!))} AS value`]
  return sql`SELECT source.id AS ${raw([`${name}_id`, ...terms].join(', '))}
    FROM (${rows}) AS source, ${raw(each(`source.${quoted(field)}`))}`
}

function itemType(spec: MemberSpec): 'int' | 'real' | 'bool' | 'text' {
  const { json } = fieldKindOf(spec)
  const column = columnType(spec)
  if (column === 'int' && json === 'number') return 'int'
  if (column === 'real') return 'real'
  return json === 'boolean' ? 'bool' : 'text'
}
