/**
 * The SQL of `table(…)` in own code (§15.4): the rows of a resource in reach, or the items of
 * one of their lists.
 */
import { join, raw, type Sql, sql } from '../../platform/storage/sql.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import type { MemberSpec } from '../../protocol/fields/spec.ts'
import { ownerCondition } from '../../protocol/lists/collection.ts'
import type { RowScope } from '../../protocol/lists/page.ts'
import { columnType } from './column-types.ts'
import { columnFields } from './computed.ts'
import { type DatabaseName, selectTerms } from './derived.ts'
import type { TableReference } from './own-sql.ts'
import { ownerPathOf } from './ownership.ts'
import type { ResourceDefinition } from './resource.ts'
import { DELETED_FIELD } from './soft-deletion.ts'

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

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
  if (definition.softDeletion) conditions.push(raw(`${DELETED_FIELD} IS NULL`))
  if (owner !== undefined) conditions.push(ownerCondition(path!, scope, owner))
  const columns = columnFields(definition.fields).filter(([, { isWriteOnly }]) => !isWriteOnly)
  const terms = raw(selectTerms(columns, database))
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
  const { each, member, whole } = jsonSql[database]
  const terms = members
    ? Object.entries(members).map(([key, spec]) => `${member(key, spec)} AS ${quoted(key)}`)
    : [`${whole(fields[field]!.items!)} AS value`]
  return sql`SELECT source.id AS ${raw([`${name}_id`, ...terms].join(', '))}
    FROM (${rows}) AS source, ${raw(each(`source.${quoted(field)}`))}`
}

interface JsonSql {
  /** Returns the table `item` of the items of a JSON text. */
  readonly each: (list: string) => string
  /** Returns the SQL of a member of an item, and of an item without members. */
  readonly member: (key: string, spec: MemberSpec) => string
  readonly whole: (spec: MemberSpec) => string
}

/** PostgreSQL returns texts, which get the type that SQLite returns. */
function typed(text: string, spec: MemberSpec): string {
  const { json } = fieldKindOf(spec)
  const column = columnType(spec)
  if (column === 'int' && json === 'number') return `(${text})::bigint`
  if (column === 'real') return `(${text})::double precision`
  if (json === 'boolean') return `(${text})::boolean::int`
  return `(${text}) COLLATE "C"`
}

const jsonSql: Readonly<Record<DatabaseName, JsonSql>> = {
  sqlite: {
    each: (list) => `json_each(${list}) AS item`,
    member: (key) => `item.value ->> '$.${key}'`,
    whole: () => 'item.value',
  },
  postgres: {
    each: (list) => `LATERAL json_array_elements(${list}::json) AS item(value)`,
    member: (key, spec) => typed(`item.value ->> '${key}'`, spec),
    whole: (spec) => typed(`item.value #>> '{}'`, spec),
  },
}
