/**
 * Faults of tables that another program can cause at any time, each with the statement that repairs
 * it. With some of them a node goes on: an index or a partition that the database has lost, a
 * column of another type, a table that PostgreSQL does not log, a trigger that can discard rows.
 */
import { engineTables } from '../../engine-tables.ts'
import { ConstraintError } from '../../platform/storage/database.ts'
import { DiscardedRowError } from '../../platform/storage/discarded-rows.ts'
import { ID_SKIP } from '../../platform/storage/id-skip.ts'
import { timeTable } from '../../platform/storage/partitions/catalog.ts'
import { attachPartitions } from '../../platform/storage/partitions/detached.ts'
import { serverErrorOf } from '../../platform/storage/postgres-errors.ts'
import type { FoundColumn, TableParts } from '../../platform/storage/table-parts.ts'
import type { ExpectedTables } from './expected-tables.ts'

/** Names of one sentence. */
const NAMES_MAX = 5

/** Returns the first names of a list, and how many others there are. */
export function someOf(names: readonly string[]): string {
  const listed = names.slice(0, NAMES_MAX).join(', ')
  const others = names.length - NAMES_MAX
  return others > 0 ? `${listed} and ${others} others` : listed
}

/** A sentence for any caller, one for operators, and the statements that repair the fault. */
type Fault = readonly [message: string, detail: string, statements: readonly string[]]

/** The statements that created the unique indexes, by name. */
type Definitions = ReadonlyMap<string, string>

/** The statements that drop constraints and triggers which have rejected a row of this node. */
export type Rejecting = ReadonlySet<string>

/** Returns one text of the faults for each reader. */
export function describeTableFaults(
  parts: TableParts,
  definitions: Definitions,
  expected: ExpectedTables,
  rejecting: Rejecting,
): { readonly message: string; readonly detail: string } | undefined {
  const faults = listFaults(parts, definitions, expected, rejecting)
  if (faults.length === 0) return undefined
  return {
    message: faults.map(([message]) => message).join(' '),
    detail: faults
      .map(([, detail, statements]) => `${detail} Repair it: ${statementsOf(statements)}.`)
      .join(' '),
  }
}

/** Returns the faults with which a node goes on; without definitions, none of indexes. */
export function listFaults(
  parts: TableParts,
  definitions: Definitions,
  expected: ExpectedTables,
  rejecting: Rejecting = new Set(),
): readonly Fault[] {
  const isOfTable = (table: string) => !parts.others.has(table)
  const ofTables = (statements: ReadonlyMap<string, string>) =>
    [...statements].filter(([, text]) => isOfTable(tableOfIndex(text)))
  const indexes = repairIndexes(parts, new Map(ofTables(definitions)))
  const columns = repairColumns(parts, expected)
  const rejected = repairRejecting(parts, expected, rejecting)
  const plain = ofTables(expected.indexes).filter(([name]) => !parts.indexes.has(name))
  const faults: readonly Fault[] = [
    ...[...parts.others].map(
      ([table, { kind }]): Fault => [
        'A table of the database is replaced by another object.',
        `${table} is a ${kind}, and the service needs the table: writes, keys and locks of rows ` +
          'differ or fail. Drop it, and rename the former table back.',
        repairOthers(parts, table),
      ],
    ),
    [
      'A unique index of the database is lost: rows with equal values can be stored.',
      `The unique index ${someOf([...indexes.keys()])} is lost or invalid: rows with ` +
        'equal values can be stored, and other writes fail. Delete such rows before the repair.',
      [...indexes.values()],
    ],
    [
      'A column of the database has another definition than this node needs.',
      `The column ${someOf([...columns.keys()])} has another type, default or NOT NULL than this ` +
        'node needs: lists have a wrong order, or writes fail.',
      [...columns.values()].flat(),
    ],
    [
      'An index of the database is lost, so that requests are slow.',
      `The index ${someOf(plain.map(([name]) => name))} is lost, so that requests read more rows ` +
        'than they return. The next start and gatehook migrate create it, too.',
      plain.map(([, text]) => text),
    ],
    [
      'A setting of the database ends connections of this node.',
      'The server ends sessions of this node by a setting.',
      parts.resets,
    ],
    [
      'A setting of the database makes statements of this node slow.',
      'The role or the database has a setting with which statements read or sort whole tables.',
      parts.planResets,
    ],
    [
      'A table of the database is unlogged.',
      `The table ${someOf(parts.unlogged)} is unlogged: a crash of the server deletes its rows, ` +
        'and no standby has them.',
      parts.unlogged.map((name) => `ALTER TABLE ${name} SET LOGGED`),
    ],
    [
      'A partition of a table is detached.',
      'A partition is detached: no statement finds its rows, and new ones of its time fail.',
      repairPartitions(parts),
    ],
    [
      'The role of this node may open no further connection to the database.',
      'The role of this node may open no further connection to the database.',
      parts.grants.filter(isOfConnect),
    ],
    [
      'A trigger of the database can discard or change rows of this service.',
      'A trigger or a rule, which is none of the engine, can discard its rows, or delete and ' +
        'change them afterwards.',
      listForeign(parts),
    ],
    [
      'Another program has changed a table so that the database refuses rows of this service.',
      `The table ${someOf([...rejected.keys()])} refuses or discards rows of this service, by a ` +
        'column without a value, a constraint, a trigger or row level security, which are none ' +
        'of the service.',
      [...rejected.values()].flat(),
    ],
    [
      'Another table adds its rows to those of a table of this service.',
      'A table inherits from one of this service: statements read and change its rows, too, so ' +
        'that lists have rows twice.',
      parts.heirs,
    ],
    [
      'A sequence of the database counts down, so that creations fail.',
      'A sequence counts down, and gives ids that exist: creations fail with the key of the table.',
      parts.sequences,
    ],
  ]
  return faults.filter(([, , statements]) => statements.length > 0)
}

/**
 * Returns by table the statements that end what refuses rows: row level security and columns at
 * once, constraints and triggers once they have, since they may be the team's. A trigger before the
 * insert may fill a column: that one counts once it has refused a row, too.
 */
function repairRejecting(
  parts: TableParts,
  expected: ExpectedTables,
  rejecting: Rejecting,
): ReadonlyMap<string, readonly string[]> {
  const tables = new Set([...expected.columns.keys()].map((path) => path.split('.')[0]))
  const filled = new Set(parts.triggers.flatMap(({ table, discards }) => (discards ? table : [])))
  const columns = [...parts.columns].flatMap(([path, column]) => {
    const [table, name] = path.split('.') as [string, string]
    const isFilled = !column || column.isNullable || column.isNumbered || column.fallback !== null
    if (isFilled || !tables.has(table) || expected.columns.has(path)) return []
    const drop = allowNull(table, name)
    return filled.has(table) && !rejecting.has(drop) ? [] : [{ table, drop }]
  })
  const drops = [...parts.constraints, ...parts.triggers].filter(({ drop }) => rejecting.has(drop))
  const secured = [...parts.secured].map(([table, drop]) => ({ table, drop }))
  const all = Map.groupBy([...secured, ...columns, ...drops], ({ table }) => table)
  return new Map([...all].map(([table, same]) => [table, same.map(({ drop }) => drop)]))
}

const NOT_NULL_VIOLATION = '23502'
const allowNull = (table: string, column: string): string =>
  `ALTER TABLE ${table} ALTER COLUMN ${column} DROP NOT NULL`

/** Returns the statements that end the constraint, the column or the triggers behind an error. */
export function listRejecting(
  { constraints, triggers }: Pick<TableParts, 'constraints' | 'triggers'>,
  error: unknown,
): string[] {
  if (error instanceof DiscardedRowError) {
    const own = triggers.filter(({ table, discards }) => discards && table === error.table)
    return own.map(({ drop }) => drop)
  }
  const sent = serverErrorOf(error instanceof ConstraintError ? error.cause : error)
  if (sent?.state === NOT_NULL_VIOLATION && sent.table && sent.column) {
    return [allowNull(sent.table, sent.column)]
  }
  if (sent?.constraint === undefined) return []
  return constraints.flatMap(({ name, drop }) => (name === sent.constraint ? drop : []))
}

/** Returns the statements that repair lost and invalid unique indexes, by name. */
export const repairIndexes = (
  { uniqueIndexes, invalidIndexes }: Pick<TableParts, 'uniqueIndexes' | 'invalidIndexes'>,
  definitions: Definitions,
): ReadonlyMap<string, string> =>
  new Map(
    [...definitions]
      .filter(([name]) => !uniqueIndexes.has(name))
      .map(([name, text]) => [name, invalidIndexes.has(name) ? `REINDEX INDEX ${name}` : text]),
  )

const timeTables = engineTables.filter(({ divided }) => divided).map(timeTable)

/** Returns the statements that attach partitions again. */
export const repairPartitions = ({ partitions }: Pick<TableParts, 'partitions'>): string[] =>
  timeTables.flatMap((table) => attachPartitions(table, partitions))

/** Connections that are open go on without it. */
export const isOfConnect = (grant: string): boolean => grant.startsWith('GRANT CONNECT ')

const engineNames = new Set(engineTables.map(({ name }) => name))

/** Returns the statements that drop triggers of the engine's tables, and rules that replace any. */
const listForeign = ({ triggers }: Pick<TableParts, 'triggers'>): string[] =>
  triggers.flatMap(({ table, drop, isInstead }) =>
    isInstead || engineNames.has(table) ? drop : [],
  )

/** Whether a trigger or a rule discards rows of the engine, or any by a rule. */
export const areDiscarded = ({ triggers }: Pick<TableParts, 'triggers'>): boolean =>
  listForeign({ triggers: triggers.filter(({ discards }) => discards) }).length > 0

/** Returns the statements that drop the rules which replace statements. */
export const listRules = ({ triggers }: Pick<TableParts, 'triggers'>): string[] =>
  triggers.flatMap(({ drop, isInstead }) => (isInstead ? drop : []))

/** Returns the statements that drop objects with the names of tables, or with one of them. */
export const repairOthers = (
  { others }: Pick<TableParts, 'others'>,
  only?: string | undefined,
): string[] =>
  [...others].flatMap(([table, { drop, base }]) => {
    if (only !== undefined && table !== only) return []
    return [drop, ...(base === null ? [] : [`ALTER TABLE ${base} RENAME TO ${table}`])]
  })

/** Returns the table of a statement that creates an index. */
function tableOfIndex(text: string): string {
  const [, place = ''] = text.split(' ON ')
  const [name = ''] = place.replace('ONLY ', '').split(/[ (]/)
  return name.slice(name.lastIndexOf('.') + 1).replaceAll('"', '')
}

/** Returns the statements that restore the definitions of columns, by column. */
export function repairColumns(
  { columns, others }: Pick<TableParts, 'columns' | 'others'>,
  expected: Pick<ExpectedTables, 'columns'>,
): ReadonlyMap<string, readonly string[]> {
  const repairs = [...expected.columns].flatMap(([path, column]) => {
    const present = others.has(path.split('.')[0]!) ? undefined : columns.get(path)
    const statements = present ? repairColumn(path, present, column) : []
    return statements.length > 0 ? [[path, statements] as const] : []
  })
  return new Map(repairs)
}

function repairColumn(path: string, present: FoundColumn, expected: FoundColumn): string[] {
  const [table, column] = path.split('.') as [string, string]
  const fallback = expected.fallback ?? present.fallback
  const changes: string[] = []
  if (present.type !== expected.type) {
    // PostgreSQL does not convert a default.
    if (present.fallback !== null) changes.push('DROP DEFAULT')
    const type = expected.type.replace(/ COLLATE .*/, '')
    changes.push(`TYPE ${expected.type} USING ${column}::${type}`)
    if (present.fallback !== null) changes.push(`SET DEFAULT ${fallback}`)
  }
  if (present.fallback === null && fallback !== null) changes.push(`SET DEFAULT ${fallback}`)
  if (present.isNullable !== expected.isNullable)
    changes.push(`${present.isNullable ? 'SET' : 'DROP'} NOT NULL`)
  const isUnnumbered = expected.isNumbered && !present.isNumbered
  if (isUnnumbered) changes.push('ADD GENERATED BY DEFAULT AS IDENTITY')
  if (changes.length === 0) return []
  const all = changes.map((change) => `ALTER COLUMN ${column} ${change}`).join(', ')
  const next = `(SELECT COALESCE(max(${column}), 0) + ${ID_SKIP} FROM ${table})`
  const sequence = `pg_get_serial_sequence('${table}', '${column}')`
  const numbers = isUnnumbered ? [`SELECT setval(${sequence}, ${next})`] : []
  return [`ALTER TABLE ${table} ${all}`, ...numbers]
}

export const statementsOf = (statements: readonly string[]): string =>
  statements.slice(0, NAMES_MAX).join('; ')
