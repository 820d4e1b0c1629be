/**
 * Reads every page of a database in bounded parts, to find damaged ones. SQLite verifies tables
 * with their indexes. PostgreSQL verifies them by its extension `amcheck`; without it, a read of
 * all rows finds damaged tables, and no damaged index.
 */
import { Failure } from '../../kernel/failure.ts'
import type { OnPart } from '../../kernel/pace.ts'
import { type Database, SchemaError, type Statement } from './database.ts'
import { isDamage } from './postgres-errors.ts'
import { bytesOf } from './relation-bytes.ts'
import { isNotADatabase } from './sqlite-errors.ts'

interface PageFault {
  /** The table or index. */
  readonly relation: string
  readonly reason: string
}

interface PageReport {
  /** Tables and indexes. */
  readonly relations: number
  readonly faults: readonly PageFault[]
  /** Whether indexes were verified. */
  readonly hasIndexes: boolean
}

interface Part {
  readonly relation: string
  /** Pages on PostgreSQL, 1 on SQLite. */
  readonly weight: number
  /** Returns reasons, `ok` or nothing. */
  readonly statement: Statement
}

/** Faults that a report lists. */
const FAULTS_MAX = 1_000

const statementOf = (text: string): Statement => ({ sql: text, text, values: [] })
const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Returns undefined for tables on several servers, which it does not read. */
export async function checkPages(db: Database, onPart: OnPart): Promise<PageReport | undefined> {
  if (db.dialect.distributed) return undefined
  const amcheck = db.name === 'postgres' ? await findAmcheck(db) : undefined
  const parts = db.name === 'sqlite' ? await sqliteParts(db) : await postgresParts(db, amcheck)
  const all = parts.reduce((sum, { weight }) => sum + weight, 0)
  const faults: PageFault[] = []
  let done = 0
  for (const { relation, statement, weight } of parts) {
    for (const reason of await findFaults(db, statement)) faults.push({ relation, reason })
    done += weight
    await onPart(done, all, db.name === 'sqlite' ? 'tables' : 'pages')
    if (faults.length >= FAULTS_MAX) break
  }
  const relations = new Set(parts.map(({ relation }) => relation)).size
  return { relations, faults, hasIndexes: db.name === 'sqlite' || amcheck !== undefined }
}

/** A part is bounded by its pages; one of an index is not. */
const NO_TIMEOUT = statementOf('SET LOCAL statement_timeout = 0')

async function findFaults(db: Database, statement: Statement): Promise<string[]> {
  try {
    const rows = await db.snapshot(async (reader) => {
      if (db.name === 'postgres') await reader.arrays(NO_TIMEOUT)
      return reader.arrays(statement)
    })
    return rows.map(([text]) => String(text)).filter((text) => text !== 'ok' && text !== '')
  } catch (error) {
    // The janitor may have dropped a partition meanwhile.
    if (error instanceof SchemaError) return []
    const cause = error instanceof Failure ? error.detail : error
    if (isDamage(cause) || isNotADatabase(cause)) return [(cause as Error).message]
    throw error
  }
}

const SQLITE_TABLES = statementOf(
  "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name",
)

async function sqliteParts(db: Database): Promise<Part[]> {
  const rows = await db.arrays(SQLITE_TABLES)
  return rows.map(([name]) => {
    const relation = String(name)
    const statement = statementOf(`PRAGMA integrity_check(${quote(relation)})`)
    return { relation, weight: 1, statement }
  })
}

/** The schema of the extension, which is seldom that of the installation (§17.1). */
const AMCHECK_SCHEMA = statementOf(`SELECT quote_ident(n.nspname) FROM pg_extension e
  JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'amcheck' AND has_schema_privilege(n.oid, 'USAGE')`)

/** Returns the schema of the extension if this role may use it. */
async function findAmcheck(db: Database): Promise<string | undefined> {
  const [extension] = await db.arrays(AMCHECK_SCHEMA)
  if (!extension) return undefined
  const schema = String(extension[0])
  const names = ['bt_index_check(regclass)', VERIFY_HEAP].map((name) => {
    const procedure = `to_regprocedure('${schema.replaceAll("'", "''")}.${name}')::oid`
    return `COALESCE(has_function_privilege(${procedure}, 'EXECUTE'), false)`
  })
  const [row] = await db.arrays(statementOf(`SELECT ${names.join(' AND ')}`))
  return row![0] === 1 ? schema : undefined
}

const VERIFY_HEAP = 'verify_heapam(regclass, boolean, boolean, text, bigint, bigint)'
/** Pages of one statement: 4 MB. */
const PART_PAGES = 512

const POSTGRES_RELATIONS = statementOf(`SELECT c.relname AS name, c.relkind = 'i' AS is_index,
    ${bytesOf('pg_relation_size', 'c')} / current_setting('block_size')::int AS pages
  FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_am a ON a.oid = c.relam
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relpersistence = 'p'
    AND (c.relkind = 'r' OR (c.relkind = 'i' AND a.amname = 'btree' AND i.indisvalid))
  ORDER BY c.relname`)

async function postgresParts(db: Database, amcheck: string | undefined): Promise<Part[]> {
  const parts: Part[] = []
  for (const row of await db.all(POSTGRES_RELATIONS)) {
    const relation = String(row.name)
    const pages = Number(row.pages)
    if (row.is_index) {
      const text = `SELECT ${amcheck}.bt_index_check(${regclass(relation)})::text`
      if (amcheck !== undefined)
        parts.push({ relation, weight: pages, statement: statementOf(text) })
      continue
    }
    for (let from = 0; from < pages; from += PART_PAGES) {
      const weight = Math.min(PART_PAGES, pages - from)
      const to = from + weight
      const text =
        amcheck === undefined
          ? readPages(relation, from, to)
          : verifyPages(`${amcheck}.verify_heapam`, relation, from, to)
      parts.push({ relation, weight, statement: statementOf(text) })
    }
  }
  return parts
}

const regclass = (relation: string): string =>
  `'${quote(relation).replaceAll("'", "''")}'::regclass`

/** Verifies the pages that exist still: VACUUM may have removed the last ones. */
const verifyPages = (verify: string, relation: string, from: number, to: number): string =>
  `SELECT msg FROM (
    SELECT LEAST(${to}, pg_relation_size(${regclass(relation)})
      / current_setting('block_size')::int) AS pages OFFSET 0) AS present
  CROSS JOIN LATERAL ${verify}(${regclass(relation)}, check_toast => true,
    startblock => ${from}, endblock => present.pages - 1) WHERE present.pages > ${from}`

/** Converts rows to text, so that the server also reads the values that it stores elsewhere. */
const readPages = (relation: string, from: number, to: number): string =>
  `SELECT 'unreadable' FROM ${quote(relation)} AS checked_row
    WHERE checked_row.ctid >= '(${from},0)' AND checked_row.ctid < '(${to},0)'
      AND checked_row::text IS NULL`

/** Returns what the server counts itself, if the cluster has checksums and failed ones. */
export async function readChecksumFailures(
  db: Database,
): Promise<{ readonly count: number; readonly lastAt: string } | undefined> {
  if (db.name !== 'postgres') return undefined
  const row = await db.get(
    statementOf(`SELECT checksum_failures AS count, checksum_last_failure::text AS last_at
      FROM pg_stat_database WHERE datname = current_database()`),
  )
  return row && row.count > 0 ? { count: row.count, lastAt: row.last_at } : undefined
}
