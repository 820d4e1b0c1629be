/**
 * Creates the tables of words at start, and indexes the rows that a table has already, in batches
 * of one transaction each (§7.12). An interrupted start resumes after the last batch. A change of
 * the searched fields indexes all rows again.
 */
import type { RowId } from '../../kernel/row-id.ts'
import type { Database, Tx, Value } from '../../platform/storage/database.ts'
import { createRowPages, type ReadKeyPage } from '../../platform/storage/key-pages.ts'
import { createScopedTable } from '../../platform/storage/scoped-table.ts'
import { raw, sql } from '../../platform/storage/sql.ts'
import { tableExists } from './additions.ts'
import type { ResourceDefinition } from './resource.ts'
import { createSearchIndex, hasWords, WORDS_RELEASE, wordSources } from './search-index.ts'
import { wordTable } from './table.ts'
import { ownKeys } from './tables.ts'

/** The searched fields of each resource, and the key of the last indexed row; null: all rows. */
const STATE_TABLE = 'gh_search_indexes'

/** Rows that one transaction indexes: about 100 ms on SQLite. */
const BATCH_ROWS = 1_000
/** Rows between two lines of progress. */
const PROGRESS_ROWS = 100_000

const hasTextIds = ({ fields }: ResourceDefinition): boolean => fields.id!.idPrefix !== undefined

const sourcesOf = (resource: ResourceDefinition): string =>
  [...wordSources(resource).names, WORDS_RELEASE].join(' ')

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
  const recorded = await listRecordedIndexes(db)
  const outdated: ResourceDefinition[] = []
  for (const resource of resources) {
    const { name } = resource
    const state = states.get(name)
    if (!hasWords(resource)) {
      // Triggers record the rows that lack words (`stale-rows.ts`).
      const isUnrecorded = state && state.fields !== '' && !recorded.has(`${name}?${state.fields}`)
      if (isUnrecorded) outdated.push(resource)
    } else if (state?.fields !== sourcesOf(resource) || !state.isComplete) outdated.push(resource)
    else if ((await db.columns(wordTable(resource))).length === 0) outdated.push(resource)
  }
  return outdated
}

/** Returns the resource and the fields of each index whose missing rows triggers record. */
async function listRecordedIndexes(db: Database): Promise<Set<string>> {
  if ((await db.columns('gh_derivations')).length === 0) return new Set()
  const rows = await db.arrays(sql`SELECT name FROM gh_derivations`)
  return new Set(rows.map(([name]) => String(name).replaceAll('+', ' ')))
}

/** Lets the start index the rows of the resources again. */
export async function resetSearchIndexes(db: Database, names: readonly string[]): Promise<void> {
  const states = await readState(db)
  const indexed = names.filter((name) => states.has(name))
  if (indexed.length === 0) return
  await db.write(async (tx) => {
    for (const name of indexed) {
      await tx.run(sql`UPDATE gh_search_indexes SET fields = 'outdated' WHERE resource = ${name}`)
    }
  })
}

/** Brings the tables of words in line with the declaration. */
export async function fillSearchIndexes(
  db: Database,
  resources: readonly ResourceDefinition[],
  progress: (line: string) => void,
): Promise<void> {
  for (const resource of await findOutdatedIndexes(db, resources)) {
    await beginIndex(db, resource)
    if (hasWords(resource)) await fillIndex(db, resource, progress)
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

/** Creates or empties the table of words, unless another start has begun to fill it. */
async function beginIndex(db: Database, resource: ResourceDefinition): Promise<void> {
  const { name } = resource
  const isIndexed = hasWords(resource)
  const table = wordTable(resource)
  const fields = isIndexed ? sourcesOf(resource) : ''
  /** The key before that of the first row. */
  const before = isIndexed ? -1 : null
  await db.migrate(async (tx, ddl) => {
    const state = await tx.get(sql`SELECT fields FROM gh_search_indexes WHERE resource = ${name}`)
    const isPresent = !isIndexed || (await db.columns(table)).length > 0
    if (isPresent && state?.fields === fields) return
    await tx.run(sql`DELETE FROM gh_search_indexes WHERE resource = ${name}`)
    // Without words the table stays: nodes of the previous declaration may still write to it.
    if (isIndexed) {
      await ddl(`DROP TABLE IF EXISTS ${table}`)
      for (const statement of tableDdl(db, resource)) await ddl(statement)
    }
    await tx.run(sql`INSERT INTO gh_search_indexes (resource, fields, last_scope, last_id, last_key)
      VALUES (${name}, ${fields}, ${before}, ${before}, '')`)
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

async function fillIndex(
  db: Database,
  resource: ResourceDefinition,
  progress: (line: string) => void,
): Promise<void> {
  const { name } = resource
  const { fields, names } = wordSources(resource)
  const index = createSearchIndex(resource)
  // A change of the row meanwhile waits, so that its words come last.
  const readPage = createRowPages(db, name, fields.join(', '))
  let rows = 0
  for (;;) {
    const count = await db.write((tx) => fillBatch(tx, resource, index, readPage))
    if (count === undefined) break
    rows += count
    if (rows % PROGRESS_ROWS === 0 && count > 0) progress(`table ${name}: ${rows} rows indexed`)
    if (count < BATCH_ROWS) await finishIndex(db, resource)
  }
  if (rows > 0) progress(`table ${name}: search index of ${names.join(', ')} created`)
}

/** Creates the index of words, and notes that all rows are indexed. */
const finishIndex = (db: Database, resource: ResourceDefinition): Promise<void> =>
  db.migrate(async (tx, ddl) => {
    await ddl(indexDdl(resource))
    await tx.run(sql`UPDATE gh_search_indexes SET last_scope = NULL
      WHERE resource = ${resource.name} AND fields = ${sourcesOf(resource)}`)
  })

/** Indexes the next rows. Returns their number; undefined if all rows are indexed. */
async function fillBatch(
  tx: Tx,
  resource: ResourceDefinition,
  index: ReturnType<typeof createSearchIndex>,
  readPage: ReadKeyPage,
): Promise<number | undefined> {
  const { name } = resource
  const { fields, wordsOf } = wordSources(resource)
  const column = raw(hasTextIds(resource) ? 'last_key' : 'last_id')
  // The lock lets one node at a time index rows.
  const state = await tx.lock<{ last_scope: Value; last: Value }>(
    sql`SELECT last_scope, ${column} AS last FROM gh_search_indexes WHERE resource = ${name}`,
  )
  if (!state || state.last_scope === null) return undefined
  const page = await readPage(tx, [state.last_scope, state.last], BATCH_ROWS)
  const rows = page.map(([scope, id, ...cells]) => ({
    scope: scope as number,
    id: id as RowId,
    words: wordsOf((field) => cells[fields.indexOf(field)]),
  }))
  await index.add(tx, ...rows)
  const [scope, id] = page.at(-1) ?? [state.last_scope, state.last]
  await tx.run(sql`UPDATE gh_search_indexes SET last_scope = ${scope}, ${column} = ${id}
    WHERE resource = ${name}`)
  return page.length
}
