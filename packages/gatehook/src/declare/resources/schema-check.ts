/**
 * Compares the database with the tables and columns that this node uses: those of the engine, as
 * its start found them, and those of the declaration. Another program can change them at any time.
 * `table-faults.ts` has the faults with which the node goes on.
 */
import { engineTables } from '../../engine-tables.ts'
import type { Log } from '../../kernel/log.ts'
import type { ColumnUse } from '../../platform/nodes/registry.ts'
import { type Reader, SchemaError } from '../../platform/storage/database.ts'
import {
  readIndexDefinitions,
  readTableParts,
  type TableParts,
} from '../../platform/storage/table-parts.ts'
import { storageUnavailable } from '../../platform/storage/transaction.ts'
import { columnType } from './column-types.ts'
import type { ResourceDefinition } from './resource.ts'
import { describeWords, hasWords } from './search-index.ts'
import { storedColumns, wordTable } from './table.ts'
import { describeTableFaults, someOf } from './table-faults.ts'

interface SchemaFault {
  readonly message: string
  readonly detail: string
}

export interface SchemaCheck {
  /** Says that parts are missing; `detail` and the log name them. */
  check(): Promise<SchemaFault | undefined>
  /** Returns the faults that the last check found, and with which the node goes on. */
  warning(): SchemaFault | undefined
  /**
   * Returns `storage_unavailable` for the error of a statement that met a missing part. Any other
   * error is returned as it is: own code can name a column that never existed. Never rejects.
   */
  explain(error: unknown): Promise<unknown>
}

interface SchemaCheckDeps {
  readonly db: Reader
  readonly log: Log
  readonly resources: readonly ResourceDefinition[]
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
  log,
  resources,
}: SchemaCheckDeps): Promise<SchemaCheck> {
  const use = columnUse(resources)
  const engineNames = engineTables.map(({ name }) => name)
  const tables = [...engineNames, ...Object.keys(use)]
  const read = () => readTableParts(db, tables)
  const declared = Object.entries(use).flatMap(([table, columns]) =>
    Object.keys(columns).map((column) => `${table}.${column}`),
  )
  const { columns } = await read()
  const definitions = await readIndexDefinitions(db, tables)
  const findLost = ({ uniqueIndexes }: TableParts) =>
    [...definitions.keys()].filter((name) => !uniqueIndexes.has(name))
  let warning: SchemaFault | undefined
  const findFaults = (present: TableParts) => {
    const faults = { lost: findLost(present), unlogged: present.unlogged }
    const former = warning?.detail
    warning = describeTableFaults(faults, definitions)
    if (warning && warning.detail !== former) log.error(faults, warning.detail)
  }
  // Resources can have columns of another declaration.
  const isOfEngine = (path: string) => !Object.hasOwn(use, path.split('.')[0]!)
  const used = [...[...columns].filter(isOfEngine), ...declared]
  let lastMissing = ''
  const findMissing = (present: TableParts): string => {
    const missing = used.filter((path) => !present.columns.has(path)).join(', ')
    if (missing !== lastMissing) report(log, missing)
    return (lastMissing = missing)
  }
  return {
    warning: () => warning,
    async check() {
      const present = await read()
      findFaults(present)
      const missing = findMissing(present)
      if (missing === '') return undefined
      const names = someOf(missing.split(', '))
      const detail = `The database lacks ${names}, which this node uses. ${CURE}`
      return { message: MISSING, detail }
    },
    async explain(error) {
      if (!(error instanceof SchemaError)) return error
      try {
        const present = await read()
        if (findMissing(present) !== '') return storageUnavailable(error)
        const lost = findLost(present)
        if (lost.length === 0) return error
        return storageUnavailable(new SchemaError(new Error(lost.join(', ')), 'a unique index'))
      } catch (failure) {
        return failure
      }
    },
  }
}

const MISSING =
  'The database lacks tables or columns that this node uses. The log and the page System name them.'
const CURE = 'Another program has changed its tables: restore them, or end this node.'

function report(log: Log, missing: string): void {
  if (missing === '') log.info('the database has all columns of this node again')
  else log.error({ missing }, `the database lacks columns that this node uses. ${CURE}`)
}
