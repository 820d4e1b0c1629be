/**
 * Creates the tables of words at start, and indexes the rows that a table has already (§7.12). A
 * change of the searched fields indexes all rows again.
 */
import type { RowId } from '../../kernel/row-id.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { createRowPages } from '../../platform/storage/key-pages.ts'
import { createScopedTable } from '../../platform/storage/scoped-table.ts'
import { raw, sql } from '../../platform/storage/sql.ts'
import { tableExists } from './additions.ts'
import { columnType } from './column-types.ts'
import type { ResourceDefinition } from './resource.ts'
import { fillRequested, listPendingFills, type RowFill, requestFill } from './row-fill.ts'
import { createSearchIndex, describeWords, hasWords, wordSources } from './search-index.ts'
import { wordTable } from './table.ts'
import { ownKeys } from './tables.ts'

/** The searched fields of each resource. */
const STATE_TABLE = 'gh_search_indexes'

/** The fields of an index whose table is created again. */
const OUTDATED = 'outdated'

/** Rows that one transaction indexes: about 100 ms on SQLite. */
const BATCH_ROWS = 1_000

const hasTextIds = ({ fields }: ResourceDefinition): boolean => fields.id!.idPrefix !== undefined

/** Returns the searched fields of each resource with words. */
async function readState(db: Database): Promise<Map<string, string>> {
  if (!(await tableExists(db, STATE_TABLE))) return new Map()
  const rows = await db.arrays(sql`SELECT resource, fields FROM gh_search_indexes`)
  return new Map(rows.map(([resource, fields]) => [String(resource), String(fields)]))
}

const hasIndex = async (db: Database, resource: ResourceDefinition): Promise<boolean> =>
  (await db.indexes(wordTable(resource))).length > 0

/**
 * Returns the resources whose rows are not indexed as declared.
 *
 * @param changed - tables whose texts a pending migration can change
 */
export async function findOutdatedIndexes(
  db: Database,
  resources: readonly ResourceDefinition[],
  changed: readonly string[] = [],
): Promise<ResourceDefinition[]> {
  const states = await readState(db)
  const pending = await listPendingFills(db, 'words')
  const outdated: ResourceDefinition[] = []
  for (const resource of resources) {
    // Without words the table stays: nodes of another declaration may still write to it.
    if (!hasWords(resource)) continue
    const { name } = resource
    const isStored = states.get(name) === describeWords(resource) && !pending.has(name)
    const isCurrent = isStored && !changed.includes(name)
    if (!isCurrent || !(await hasIndex(db, resource))) outdated.push(resource)
  }
  return outdated
}

/** Returns the searched fields of resources that differ from the declared ones. */
export async function listOtherWords(
  db: Database,
  resources: readonly ResourceDefinition[],
): Promise<(readonly [ResourceDefinition, fields: string])[]> {
  const states = await readState(db)
  return resources.flatMap((resource) => {
    const fields = states.get(resource.name)
    const own = hasWords(resource) ? describeWords(resource) : undefined
    const isOther = fields !== undefined && fields !== own && fields !== OUTDATED
    return isOther ? [[resource, fields] as const] : []
  })
}

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

/** Brings the tables of words in line with the declaration. */
export async function fillSearchIndexes(
  db: Database,
  resources: readonly ResourceDefinition[],
  progress: (line: string) => void,
): Promise<void> {
  for (const resource of await findOutdatedIndexes(db, resources)) {
    await beginIndex(db, resource)
    const rows = await fillRequested(db, createWordFill(db, resource), progress)
    if (!(await hasIndex(db, resource))) {
      await db.migrate((_tx, ddl) => ddl(indexDdl(resource)))
    }
    if (rows === 0) continue
    const names = wordSources(resource).names.join(', ')
    progress(`table ${resource.name}: search index of ${names} created`)
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
    const isOutdated = state?.fields === OUTDATED
    if (isOutdated) await ddl(`DROP TABLE IF EXISTS ${table}`)
    if (isOutdated || !isPresent) {
      for (const statement of tableDdl(db, resource)) await ddl(statement)
    }
    await storeFields(tx, resource)
    await requestFill(tx, name, 'words')
  })
}

/** Stores from which fields the words of the rows are. */
const storeFields = (tx: Tx, resource: ResourceDefinition): Promise<unknown> =>
  tx.run(sql`INSERT INTO gh_search_indexes (resource, fields)
    VALUES (${resource.name}, ${describeWords(resource)})
    ON CONFLICT (resource) DO UPDATE SET fields = excluded.fields`)

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

/** Returns the fill of the words of all rows. */
export function createWordFill(db: Database, resource: ResourceDefinition): RowFill {
  const { name } = resource
  const { fields, wordsOf } = wordSources(resource)
  const sized = fields.map((field) => ({
    name: field,
    type: columnType(resource.fields[field]!),
  }))
  const index = createSearchIndex(resource)
  // A change of the row meanwhile waits, so that its words come last.
  const readPage = createRowPages(db, name, fields.join(', '), sized)
  return {
    resource: name,
    part: 'words',
    done: 'indexed',
    async fillBatch(tx, after) {
      const { rows, next } = await readPage(tx, after, BATCH_ROWS)
      const start = after ? sql`(scope, id) > (${after[0]!}, ${after[1]!})` : sql`scope >= 0`
      const end = next ? sql`AND (scope, id) <= (${next[0]!}, ${next[1]!})` : sql``
      // Nodes of another declaration delete rows without their words.
      await tx.run(sql`DELETE FROM ${raw(wordTable(resource))} AS words WHERE ${start} ${end}
        AND NOT EXISTS (SELECT 1 FROM ${raw(name)} AS item
          WHERE item.scope = words.scope AND item.id = words.id)`)
      const items = rows.map(([scope, id, ...cells]) => ({
        scope: scope as number,
        id: id as RowId,
        words: wordsOf((field) => cells[fields.indexOf(field)]),
      }))
      await Promise.all(items.map(({ scope, id }) => index.remove(tx, scope, id)))
      await index.add(tx, ...items)
      return { count: rows.length, next }
    },
    complete: (tx) => storeFields(tx, resource),
  }
}
