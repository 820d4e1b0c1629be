/**
 * Creates the tables of words at start, and indexes the rows that a table has already, in batches
 * of one transaction each (§7.12). An interrupted start resumes after the last batch. A change of
 * the searched fields indexes all rows again.
 */
import type { BatchPace } from '../../kernel/pace.ts'
import type { RowId } from '../../kernel/row-id.ts'
import type { Database, Tx, Value } from '../../platform/storage/database.ts'
import { createRowPages, type ReadBytePage } from '../../platform/storage/key-pages.ts'
import { createScopedTable } from '../../platform/storage/scoped-table.ts'
import { raw, sql } from '../../platform/storage/sql.ts'
import { tableExists } from './additions.ts'
import type { ResourceDefinition } from './resource.ts'
import { createSearchIndex, describeWords, hasWords, wordSources } from './search-index.ts'
import { wordTable } from './table.ts'
import { ownKeys } from './tables.ts'

/** The searched fields of each resource, and the key of the last indexed row; null: all rows. */
const STATE_TABLE = 'gh_search_indexes'

/** The fields of an index whose table is created again. */
const OUTDATED = 'outdated'

/** Rows that one transaction indexes: about 100 ms on SQLite. */
const BATCH_ROWS = 1_000
/** Rows between two lines of progress. */
const PROGRESS_ROWS = 100_000

const hasTextIds = ({ fields }: ResourceDefinition): boolean => fields.id!.idPrefix !== undefined

interface IndexState {
  readonly fields: string
  readonly isComplete: boolean
}

async function readState(db: Database): Promise<Map<string, IndexState>> {
  if ((await db.columns(STATE_TABLE)).length === 0) return new Map()
  const rows = await db.all(sql`SELECT resource, fields, last_scope FROM gh_search_indexes`)
  return new Map(
    rows.map(({ resource, fields, last_scope }) => [
      String(resource),
      { fields: String(fields), isComplete: last_scope === null },
    ]),
  )
}

/** Returns the resources whose rows are not indexed as declared. */
export async function findOutdatedIndexes(
  db: Database,
  resources: readonly ResourceDefinition[],
): Promise<ResourceDefinition[]> {
  const states = await readState(db)
  const outdated: ResourceDefinition[] = []
  for (const resource of resources) {
    const { name } = resource
    const state = states.get(name)
    // Without words the table stays: nodes of another declaration may still write to it.
    if (!hasWords(resource)) continue
    if (state?.fields !== describeWords(resource) || !state.isComplete) outdated.push(resource)
    else if ((await db.columns(wordTable(resource))).length === 0) outdated.push(resource)
  }
  return outdated
}

/** Returns what words follow from that another declaration stores, and this one does not. */
export async function listOtherWords(
  db: Database,
  resources: readonly ResourceDefinition[],
): Promise<(readonly [resource: string, words: string])[]> {
  const states = await readState(db)
  return resources.flatMap((resource) => {
    const state = states.get(resource.name)
    return state && !hasWords(resource) ? [[resource.name, state.fields] as const] : []
  })
}

/** Lets `fillSearchIndexes` index all rows again, beside the words that they have. */
export const requestWords = (tx: Tx, { name }: ResourceDefinition): Promise<unknown> =>
  tx.run(sql`UPDATE gh_search_indexes SET last_scope = -1, last_id = -1, last_key = ''
    WHERE resource = ${name}`)

/** Lets the start index the rows of the resources again. */
export async function resetSearchIndexes(db: Database, names: readonly string[]): Promise<void> {
  const states = await readState(db)
  const indexed = names.filter((name) => states.has(name))
  if (indexed.length === 0) return
  await db.write(async (tx) => {
    for (const name of indexed) {
      await tx.run(sql`UPDATE gh_search_indexes SET fields = ${OUTDATED} WHERE resource = ${name}`)
    }
  })
}

/** Brings the tables of words in line with the declaration, unless `pace` ends the work before. */
export async function fillSearchIndexes(
  db: Database,
  resources: readonly ResourceDefinition[],
  progress: (line: string) => void,
  pace?: BatchPace,
): Promise<void> {
  for (const resource of await findOutdatedIndexes(db, resources)) {
    if ((await pace?.()) === false) return
    await beginIndex(db, resource)
    await fillIndex(db, resource, progress, pace)
  }
}

/** Creates missing tables of words, with their indexes and without words. */
export async function createWordTables(
  db: Database,
  resources: readonly ResourceDefinition[],
): Promise<void> {
  for (const resource of resources) {
    if (!hasWords(resource) || (await tableExists(db, wordTable(resource)))) continue
    await db.migrate(async (_tx, ddl) => {
      for (const statement of [...tableDdl(db, resource), indexDdl(resource)]) await ddl(statement)
    })
  }
}

/** Creates the table of words if it is missing or outdated, unless another start has. */
async function beginIndex(db: Database, resource: ResourceDefinition): Promise<void> {
  const { name } = resource
  const table = wordTable(resource)
  const fields = describeWords(resource)
  await db.migrate(async (tx, ddl) => {
    const state = await tx.get(sql`SELECT fields FROM gh_search_indexes WHERE resource = ${name}`)
    const isPresent = (await db.columns(table)).length > 0
    if (isPresent && state?.fields === fields) return
    await tx.run(sql`DELETE FROM gh_search_indexes WHERE resource = ${name}`)
    const isOutdated = state?.fields === OUTDATED
    if (isOutdated) await ddl(`DROP TABLE IF EXISTS ${table}`)
    if (isOutdated || !isPresent) {
      for (const statement of tableDdl(db, resource)) await ddl(statement)
    }
    // The key before that of the first row.
    await tx.run(sql`INSERT INTO gh_search_indexes (resource, fields, last_scope, last_id, last_key)
      VALUES (${name}, ${fields}, -1, -1, '')`)
  })
}

/** On SQLite the index follows the rows: sorting all entries at once is several times faster. */
function tableDdl({ dialect }: Database, resource: ResourceDefinition): string[] {
  const { int, text } = dialect.types
  const table = wordTable(resource)
  const id = hasTextIds(resource) ? text : int
  // On PostgreSQL, an index at the end would block the writes of nodes with another declaration.
  return createScopedTable(dialect, {
    name: table,
    parts: [`id ${id} NOT NULL`, `word ${text} NOT NULL`, 'PRIMARY KEY (scope, id, word)'],
    indexes: [indexDdl(resource)],
    beside: ownKeys.name,
    byKey: true,
    isFilled: true,
  })
}

function indexDdl(resource: ResourceDefinition): string {
  const table = wordTable(resource)
  return `CREATE INDEX IF NOT EXISTS ${table}_by_word ON ${table} (scope, word, id)`
}

const textColumn = (name: string) => ({ name, type: 'text' })

async function fillIndex(
  db: Database,
  resource: ResourceDefinition,
  progress: (line: string) => void,
  pace?: BatchPace,
): Promise<void> {
  const { name } = resource
  const { fields, names } = wordSources(resource)
  const index = createSearchIndex(resource)
  // A change of the row meanwhile waits, so that its words come last.
  const readPage = createRowPages(db, name, fields.join(', '), fields.map(textColumn))
  let rows = 0
  for (;;) {
    if ((await pace?.()) === false) return
    const batch = await db.write((tx) => fillBatch(tx, resource, index, readPage))
    if (batch === undefined) break
    const { count, isLast } = batch
    rows += count
    if (rows % PROGRESS_ROWS < count) progress(`table ${name}: ${rows} rows indexed`)
    if (isLast) await finishIndex(db, resource)
  }
  if (rows > 0) progress(`table ${name}: search index of ${names.join(', ')} created`)
}

/** Creates the index of words, and notes that all rows are indexed. */
const finishIndex = (db: Database, resource: ResourceDefinition): Promise<void> =>
  db.migrate(async (tx, ddl) => {
    const isPresent = (await db.indexes(wordTable(resource))).length > 0
    if (!isPresent) await ddl(indexDdl(resource))
    await tx.run(sql`UPDATE gh_search_indexes SET last_scope = NULL
      WHERE resource = ${resource.name} AND fields = ${describeWords(resource)}`)
  })

interface FilledBatch {
  /** The indexed rows. */
  readonly count: number
  readonly isLast: boolean
}

/** Indexes the next rows. Returns undefined if all rows are indexed. */
async function fillBatch(
  tx: Tx,
  resource: ResourceDefinition,
  index: ReturnType<typeof createSearchIndex>,
  readPage: ReadBytePage,
): Promise<FilledBatch | undefined> {
  const { name } = resource
  const { fields, wordsOf } = wordSources(resource)
  const column = raw(hasTextIds(resource) ? 'last_key' : 'last_id')
  // The lock lets one node at a time index rows.
  const state = await tx.lock<{ last_scope: Value; last: Value }>(
    sql`SELECT last_scope, ${column} AS last FROM gh_search_indexes WHERE resource = ${name}`,
  )
  if (!state || state.last_scope === null) return undefined
  const page = await readPage(tx, [state.last_scope, state.last], BATCH_ROWS)
  const rows = page.rows.map(([scope, id, ...cells]) => ({
    scope: scope as number,
    id: id as RowId,
    words: wordsOf((field) => cells[fields.indexOf(field)]),
  }))
  const isLast = page.next === undefined
  const [scope, id] = page.next ?? page.rows.at(-1) ?? [state.last_scope, state.last]
  const range = sql`(scope, id) > (${state.last_scope}, ${state.last})`
  const end = isLast ? sql`` : sql`AND (scope, id) <= (${scope!}, ${id!})`
  // Nodes of another declaration delete rows without their words.
  await tx.run(sql`DELETE FROM ${raw(wordTable(resource))} AS words WHERE ${range} ${end}
    AND NOT EXISTS (SELECT 1 FROM ${raw(name)} AS item
      WHERE item.scope = words.scope AND item.id = words.id)`)
  await Promise.all(rows.map((row) => index.remove(tx, row.scope, row.id)))
  await index.add(tx, ...rows)
  await tx.run(sql`UPDATE gh_search_indexes SET last_scope = ${scope}, ${column} = ${id}
    WHERE resource = ${name}`)
  return { count: rows.length, isLast }
}
