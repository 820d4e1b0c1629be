/**
 * Faults of tables that another program can cause at any time, each with the statement that repairs
 * it. With some of them a node goes on: a unique index or a partition that the database has lost, a
 * table that PostgreSQL does not log, a trigger that can discard rows of the engine.
 */
import { engineTables } from '../../engine-tables.ts'
import { timeTable } from '../../platform/storage/partitions/catalog.ts'
import { attachPartitions } from '../../platform/storage/partitions/detached.ts'
import type { TableParts } from '../../platform/storage/table-parts.ts'

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

type FoundParts = Omit<TableParts, 'columns'>
/** The statements that created the unique indexes, by name. */
type Definitions = ReadonlyMap<string, string>

/** Returns one text of the faults for each reader. */
export function describeTableFaults(
  parts: FoundParts,
  definitions: Definitions,
): { readonly message: string; readonly detail: string } | undefined {
  const faults = listFaults(parts, definitions)
  if (faults.length === 0) return undefined
  return {
    message: faults.map(([message]) => message).join(' '),
    detail: faults
      .map(([, detail, statements]) => `${detail} Repair it: ${statementsOf(statements)}.`)
      .join(' '),
  }
}

/** Returns the faults with which a node goes on; without definitions, none of indexes. */
export function listFaults(parts: FoundParts, definitions: Definitions): readonly Fault[] {
  const indexes = repairIndexes(parts, definitions)
  const faults: readonly Fault[] = [
    [
      'A unique index of the database is lost or invalid, so that writes fail.',
      `The unique index ${someOf([...indexes.keys()])} is lost or invalid, so that writes fail.`,
      [...indexes.values()],
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
      'A trigger of the database can discard rows of this service.',
      'A trigger or a rule, which is none of the engine, can discard its rows.',
      listDiscarding(parts),
    ],
  ]
  return faults.filter(([, , statements]) => statements.length > 0)
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

/** Returns the statements that drop what can discard rows of the engine. */
export const listDiscarding = ({ triggers }: Pick<TableParts, 'triggers'>): string[] =>
  triggers.flatMap(({ table, drop }) => (drop !== null && engineNames.has(table) ? drop : []))

export const statementsOf = (statements: readonly string[]): string =>
  statements.slice(0, NAMES_MAX).join('; ')
