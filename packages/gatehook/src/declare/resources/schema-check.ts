/**
 * Compares the database with the tables and columns that this node uses: those of the engine, as
 * its start found them, and those of the declaration; and the rights of its role with those that
 * its start had. Another program can change them at any time.
 * `table-faults.ts` has the faults with which the node goes on.
 */
import { engineTables } from '../../engine-tables.ts'
import type { Log } from '../../kernel/log.ts'
import type { ColumnUse } from '../../platform/nodes/registry.ts'
import {
  ConstraintError,
  type Dialect,
  type Reader,
  SchemaError,
} from '../../platform/storage/database.ts'
import { DiscardedRowError, ReplacedStatementError } from '../../platform/storage/discarded-rows.ts'
import {
  isDenied,
  isTypeMismatch,
  isUnsupported,
  isWithoutPartition,
  serverErrorOf,
} from '../../platform/storage/postgres-errors.ts'
import {
  readIndexDefinitions,
  readTableParts,
  type TableParts,
} from '../../platform/storage/table-parts.ts'
import type { TableState } from '../../platform/storage/table-state.ts'
import { storageUnavailable } from '../../platform/storage/transaction.ts'
import { columnType } from './column-types.ts'
import { type ExpectedTables, expectTables } from './expected-tables.ts'
import type { ResourceDefinition } from './resource.ts'
import { describeWords, hasWords } from './search-index.ts'
import { storedColumns, wordTable } from './table.ts'
import {
  areDiscarded,
  describeTableFaults,
  isOfConnect,
  listRejecting,
  listRules,
  repairColumns,
  repairIndexes,
  repairOthers,
  repairPartitions,
  someOf,
  statementsOf,
} from './table-faults.ts'

interface SchemaFault {
  readonly message: string
  readonly detail: string
}

export interface SchemaCheck {
  /** Says that parts or rights are missing; `detail` and the log name them. */
  check(): Promise<SchemaFault | undefined>
  /** Returns the faults that the last check found, and with which the node goes on. */
  warning(): SchemaFault | undefined
  /**
   * Returns `storage_unavailable` for the error of a statement that met a missing part or right.
   * Any other error is returned as it is: own code can name a column that never existed. Never
   * rejects.
   */
  explain(error: unknown): Promise<unknown>
}

interface SchemaCheckDeps {
  readonly db: Reader
  readonly dialect: Dialect
  readonly log: Log
  readonly resources: readonly ResourceDefinition[]
  /** Receives what transactions must know. */
  readonly tables: TableState
  /** Returns the names of the indexes that this node still creates. */
  readonly pendingIndexes: () => readonly string[]
}

/**
 * Returns the columns of resources that the declaration uses, and of their words. The type of words
 * is what they follow from.
 */
export const columnUse = (resources: readonly ResourceDefinition[]): ColumnUse =>
  Object.fromEntries(
    resources.flatMap((definition): [string, Record<string, string>][] => {
      const { name, fields } = definition
      const types = storedColumns(fields).map(([column, spec]) => [column, columnType(spec)])
      const use = { scope: 'int', ...Object.fromEntries(types) }
      if (!hasWords(definition)) return [[name, use]]
      return [
        [name, use],
        [wordTable(definition), { word: describeWords(definition) }],
      ]
    }),
  )

/** Reads the tables of the engine; the database must be migrated. */
export async function openSchemaCheck({
  db,
  dialect,
  log,
  resources,
  tables: state,
  pendingIndexes,
}: SchemaCheckDeps): Promise<SchemaCheck> {
  const use = columnUse(resources)
  const engineNames = engineTables.map(({ name }) => name)
  const tables = [...engineNames, ...Object.keys(use)]
  const declared = Object.entries(use).flatMap(([table, columns]) =>
    Object.keys(columns).map((column) => `${table}.${column}`),
  )
  const read = async () => {
    const present = await readTableParts(db, tables)
    const triggered = present.triggers.map(({ table }) => table)
    state.triggered = new Set(triggered.filter((table) => Object.hasOwn(use, table)))
    state.discardsRows = areDiscarded(present)
    state.unlogged = present.unlogged
    return present
  }
  const { columns, grants } = await read()
  const expected = expectedSince(columns, expectTables(dialect, resources))
  const definitions = await readIndexDefinitions(db, tables)
  // Resources can have columns of another declaration.
  const isOfEngine = (path: string) => !Object.hasOwn(use, path.split('.')[0]!)
  const used = [...[...columns.keys()].filter(isOfEngine), ...declared]
  const findMissing = (present: TableParts) => used.filter((path) => !present.columns.has(path))
  const findFault = (present: TableParts): SchemaFault | undefined => {
    // The operator may have given the role fewer rights from the start on.
    const isRevoked = (grant: string) => !isOfConnect(grant) && !grants.includes(grant)
    const revoked = present.grants.filter(isRevoked)
    if (revoked.length > 0) {
      const detail = `${REVOKED} Grant them again: ${statementsOf(revoked)}.`
      return { message: `${REVOKED} The log and gatehook doctor name them.`, detail }
    }
    const missing = findMissing(present)
    if (missing.length === 0) return undefined
    const renames = missing.flatMap((path) => renameOf(path, columns, present.columns) ?? [])
    const rename = renames.length > 0 ? ` Rename back: ${statementsOf(renames)}.` : ''
    const detail = `The database lacks ${someOf(missing)}, which this node uses. ${CURE}${rename}`
    return { message: MISSING, detail }
  }
  const note = { fault: createNote(log), warning: createNote(log) }
  let warning: SchemaFault | undefined
  const rejecting = new Set<string>()
  return {
    warning: () => warning,
    async check() {
      const present = await read()
      warning = describeTableFaults(
        present,
        definitions,
        leaveOut(expected, pendingIndexes()),
        rejecting,
      )
      note.warning(warning)
      const fault = findFault(present)
      note.fault(fault)
      return fault
    },
    async explain(error) {
      const isSchema = error instanceof SchemaError
      if (!isSchema && !EXPLAINED.some((isExplained) => isExplained(error))) return error
      try {
        const present = await read()
        const drops = listRejecting(present, error)
        for (const drop of drops) rejecting.add(drop)
        if (error instanceof DiscardedRowError && drops.length > 0)
          return new DiscardedRowError(error.table, statementsOf(drops))
        const rules = isUnsupported(error) ? listRules(present) : []
        if (rules.length > 0) return new ReplacedStatementError(statementsOf(rules), error)
        const others = isSchema || isUnsupported(error) ? repairOthers(present) : []
        if (others.length > 0) return lacks('a table, which another object replaces', others)
        const columns = isTypeMismatch(error) ? repairColumns(present, expected) : new Map()
        if (columns.size > 0)
          return lacks('the definition of a column', [...columns.values()].flat())
        const rights = rightsBehind(error, present.grants)
        if (rights.length > 0) return lacks('a right', rights)
        if (isSchema && findMissing(present).length > 0) return storageUnavailable(error)
        const indexes = [...repairIndexes(present, definitions)]
        if (isSchema && indexes.length > 0) return lacks('a unique index', indexes.map(indexWords))
        const partitions = isWithoutPartition(error) ? repairPartitions(present) : []
        return partitions.length > 0 ? lacks('a partition', partitions) : error
      } catch (failure) {
        return failure
      }
    },
  }
}

/** Errors of statements beside `SchemaError`, which changed tables can cause. */
const EXPLAINED = [isDenied, isWithoutPartition, isUnsupported, isTypeMismatch, isRejection]

/** Whether a constraint, a column or a trigger has rejected or discarded a row. */
function isRejection(error: unknown): boolean {
  const isOwn = error instanceof DiscardedRowError || error instanceof ConstraintError
  const { constraint, column } = serverErrorOf(error) ?? {}
  return isOwn || constraint !== undefined || column !== undefined
}

/** Adds the defaults of the start, which migrations of the team may have chosen. */
function expectedSince(columns: TableParts['columns'], expected: ExpectedTables): ExpectedTables {
  const all = [...expected.columns].map(([path, column]) => {
    const fallback = column.fallback ?? columns.get(path)?.fallback ?? null
    return [path, { ...column, fallback }] as const
  })
  return { ...expected, columns: new Map(all) }
}

function leaveOut(expected: ExpectedTables, names: readonly string[]): ExpectedTables {
  if (names.length === 0) return expected
  const indexes = [...expected.indexes].filter(([name]) => !names.includes(name))
  return { ...expected, indexes: new Map(indexes) }
}

/** Returns the statement that renames a column back, if its table has one new column. */
function renameOf(
  path: string,
  former: TableParts['columns'],
  present: TableParts['columns'],
): string | undefined {
  const [table, name] = path.split('.') as [string, string]
  const type = former.get(path)?.type
  const added = [...present].flatMap(([other, column]) =>
    other.startsWith(`${table}.`) && !former.has(other) && column?.type === type ? other : [],
  )
  if (added.length !== 1) return undefined
  return `ALTER TABLE ${table} RENAME COLUMN ${added[0]!.split('.')[1]} TO ${name}`
}

/** Returns the grants whose lack causes an error: a schema without USAGE has no tables. */
function rightsBehind(error: unknown, grants: readonly string[]): readonly string[] {
  if (error instanceof SchemaError) return grants.filter((grant) => /^GRANT USAGE /.test(grant))
  if (!isDenied(error)) return []
  const denied = / (\S+)$/.exec((error as Error).message)?.[1]
  const named = grants.filter((grant) => grant.includes(`.${denied} TO `))
  return named.length > 0 ? named : grants
}

/** Returns the failure of a statement that lacks something, with what the operator reads. */
const lacks = (part: string, words: readonly string[]) =>
  storageUnavailable(new SchemaError(new Error(statementsOf(words)), part))

const indexWords = ([name, statement]: readonly [string, string]): string =>
  statement.startsWith('REINDEX') ? `${name}, which is invalid (${statement})` : name

const MISSING =
  'The database lacks tables or columns that this node uses. The log and the page System name them.'
const CURE = 'Another program has changed its tables: restore them, or end this node.'
const REVOKED = 'The role of this node has lost rights in the database.'

/** Returns a function that logs the begin and the end of faults. */
function createNote(log: Log): (fault: SchemaFault | undefined) => void {
  let last: string | undefined
  return (fault) => {
    if (fault?.detail === last) return
    last = fault?.detail
    if (fault) log.error(fault.detail)
    else log.info('the database has all that this node uses again')
  }
}
