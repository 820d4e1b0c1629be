/**
 * Compares the database with the tables and columns that this node uses: those of the engine, as
 * its start found them, and those of the declaration. Another program can change them at any time.
 */
import { engineTables } from '../../engine-tables.ts'
import type { Log } from '../../kernel/log.ts'
import type { ColumnUse } from '../../platform/nodes/registry.ts'
import { type Reader, SchemaError } from '../../platform/storage/database.ts'
import { readTableParts, type TableParts } from '../../platform/storage/table-parts.ts'
import { storageUnavailable } from '../../platform/storage/transaction.ts'
import { columnType } from './column-types.ts'
import type { ResourceDefinition } from './resource.ts'
import { describeWords, hasWords } from './search-index.ts'
import { storedColumns, wordTable } from './table.ts'

export interface SchemaCheck {
  /** Says that parts are missing; `detail` and the log name them. */
  check(): Promise<{ readonly message: string; readonly detail: string } | undefined>
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
  const read = () => readTableParts(db, [...engineNames, ...Object.keys(use)])
  const declared = Object.entries(use).flatMap(([table, columns]) =>
    Object.keys(columns).map((column) => `${table}.${column}`),
  )
  const { columns, uniqueIndexes } = await read()
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
    async check() {
      const missing = findMissing(await read())
      if (missing === '') return undefined
      const detail = `The database lacks ${namesOf(missing)}, which this node uses. ${CURE}`
      return { message: MISSING, detail }
    },
    async explain(error) {
      if (!(error instanceof SchemaError)) return error
      try {
        const present = await read()
        if (findMissing(present) !== '') return storageUnavailable(error)
        const lost = [...uniqueIndexes].filter((name) => !present.uniqueIndexes.has(name))
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

/** A table that is missing as a whole has many columns. */
const NAMES_MAX = 5

function namesOf(missing: string): string {
  const names = missing.split(', ')
  const others = names.length - NAMES_MAX
  const listed = names.slice(0, NAMES_MAX).join(', ')
  return others > 0 ? `${listed} and ${others} others` : listed
}

function report(log: Log, missing: string): void {
  if (missing === '') log.info('the database has all columns of this node again')
  else log.error({ missing }, `the database lacks columns that this node uses. ${CURE}`)
}
