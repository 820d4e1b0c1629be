/**
 * Creates indexes on PostgreSQL while requests read and write the table: `CREATE INDEX
 * CONCURRENTLY`, outside a transaction. A second session locks a table as the lease over nodes: two
 * builds on one table would end in a deadlock. If the node is killed, its lease ends and the server
 * process finishes its index, which others see by the lock of its table; if that is killed too, it
 * leaves an invalid index, which the next build drops.
 */
import { type IndexBuild, type IndexDdl, NameTakenError, type Row } from './database.ts'
import { isLockTimeout, translatePostgresError } from './postgres-errors.ts'
import type { PostgresPlace } from './postgres-place.ts'
import type { Session, Sessions } from './postgres-session.ts'

/** The lock of a build conflicts with no read and no write, so it may wait. */
const UNLIMITED = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']

/** See `Database.createIndexes`. */
export async function createIndexes(
  { dedicate, place }: Pick<Sessions, 'dedicate' | 'place'>,
  indexes: readonly IndexDdl[],
  signal?: AbortSignal,
): Promise<boolean> {
  const build = async (session: Session, hasSession: boolean): Promise<boolean> => {
    if (hasSession) await prepareSession(session, place)
    for (const index of indexes) {
      if (signal?.aborted) break
      if (!(await createIndex(session, index, place))) return false
    }
    return true
  }
  try {
    return await dedicate(
      async (session) => (await takeLease(session, place)) && dedicate(build, signal),
      signal,
    )
  } catch (error) {
    if (signal?.aborted) return true
    throw translatePostgresError(error)
  }
}

/** The lock conflicts with itself, and with no statement of a node. It has no transaction id. */
async function takeLease(session: Session, { qualify }: PostgresPlace): Promise<boolean> {
  const table = qualify('gh_settings')
  const lease = `LOCK TABLE ${table} IN SHARE UPDATE EXCLUSIVE MODE NOWAIT`
  try {
    await session.query(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0; ${lease}`)
    return true
  } catch (error) {
    if (isLockTimeout(error)) return false
    throw error
  }
}

/** Behind a pooler, sessions are those of others, and keep their settings. */
async function prepareSession(session: Session, place: PostgresPlace): Promise<void> {
  const settings = UNLIMITED.map((setting) => `SET ${setting} = 0`)
  for (const setting of [...settings, ...place.assumeOwner('SESSION')]) await session.query(setting)
}

/** The lock of a table that a build holds from its begin to its end. */
const BUILD_LOCK = 'ShareUpdateExclusiveLock'

/** Returns false if another session creates the index now. */
async function createIndex(
  session: Session,
  { name, table, definition }: IndexDdl,
  { qualify }: PostgresPlace,
): Promise<boolean> {
  const text = `SELECT i.indisvalid AS valid, EXISTS (SELECT 1 FROM pg_locks l
      WHERE l.relation = i.indrelid AND l.mode = '${BUILD_LOCK}' AND l.granted
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND l.pid <> pg_backend_pid()) AS building,
      CASE WHEN i.indrelid = to_regclass($2) THEN NULL
        ELSE 'the table ' || COALESCE(i.indrelid, c.oid)::regclass END AS holder
    FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid WHERE c.oid = to_regclass($1)`
  const [existingIndex] = (await session.query(text, [qualify(name), qualify(table)])).rows
  if (existingIndex?.holder) {
    throw new NameTakenError(`The index ${name}`, existingIndex.holder, undefined)
  }
  if (existingIndex?.valid) return true
  if (existingIndex?.building) return false
  if (await isPartitioned(session, qualify(table))) {
    await createOnPartitions(session, { name, table, definition }, { qualify })
    return true
  }
  if (existingIndex) await session.query(`DROP INDEX CONCURRENTLY ${qualify(name)}`)
  try {
    const on = definition.replace(`ON ${table}`, `ON ${qualify(table)}`)
    await session.query(`CREATE INDEX CONCURRENTLY ${name} ${on}`)
    return true
  } catch (error) {
    if ((error as { code?: string }).code === DUPLICATE_TABLE) return false
    throw error
  }
}

const DUPLICATE_TABLE = '42P07'

/** Whether a table has partitions: PostgreSQL creates no index of all beside writes. */
async function isPartitioned(session: Session, table: string): Promise<boolean> {
  const text = `SELECT 1 FROM pg_class WHERE oid = to_regclass($1) AND relkind = 'p'`
  return (await session.query(text, [table])).rows.length > 0
}

/** Creates an index on each partition beside writes; with the last one, that of all is valid. */
async function createOnPartitions(
  session: Session,
  { name, table, definition }: IndexDdl,
  { qualify }: Pick<PostgresPlace, 'qualify'>,
): Promise<void> {
  const onTable = (clause: string) => definition.replace(`ON ${table}`, `ON ${clause}`)
  await session.query(`CREATE INDEX IF NOT EXISTS ${name} ${onTable(`ONLY ${qualify(table)}`)}`)
  const { rows } = await session.query(
    `SELECT c.relname AS partition FROM pg_inherits p JOIN pg_class c ON c.oid = p.inhrelid
    WHERE p.inhparent = to_regclass($1) AND NOT EXISTS (SELECT FROM pg_inherits i
      JOIN pg_index x ON x.indexrelid = i.inhrelid
      WHERE i.inhparent = to_regclass($2) AND x.indrelid = c.oid)`,
    [qualify(table), qualify(name)],
  )
  for (const { partition } of rows) {
    const part = `${name}${partition.slice(table.length)}`
    // An earlier build may have ended before its index was valid.
    await session.query(`DROP INDEX CONCURRENTLY IF EXISTS ${qualify(part)}`)
    await session.query(`CREATE INDEX CONCURRENTLY ${part} ${onTable(qualify(partition))}`)
    await session.query(`ALTER INDEX ${qualify(name)} ATTACH PARTITION ${qualify(part)}`)
  }
}

/** See `Database.dropIndexes`. */
export const dropIndexes = (
  { dedicate, place }: Pick<Sessions, 'dedicate' | 'place'>,
  names: readonly string[],
): Promise<void> =>
  dedicate(async (session, hasSession) => {
    if (hasSession) await prepareSession(session, place)
    for (const name of names)
      await session.query(`DROP INDEX CONCURRENTLY IF EXISTS ${place.qualify(name)}`)
  })

/** The part of a build that each step begins and ends at; steps wait, scan, sort and validate. */
const PHASES: Readonly<Record<string, readonly [from: number, to: number]>> = {
  'waiting for writers before build': [0, 0],
  'building index: scanning table': [0, 0.35],
  'building index: sorting live tuples': [0.35, 0.4],
  'building index: loading tuples in tree': [0.4, 0.6],
  'waiting for writers before validation': [0.6, 0.6],
  'index validation: scanning index': [0.6, 0.7],
  'index validation: sorting tuples': [0.7, 0.7],
  'index validation: scanning table': [0.7, 1],
  'waiting for old snapshots': [1, 1],
}

/** See `Database.indexBuilds`. */
export async function readIndexBuilds(read: Sessions['read']): Promise<IndexBuild[]> {
  const text = `SELECT t.relname AS table_name, i.relname AS name, p.phase, p.blocks_total,
      p.blocks_done, p.tuples_total, p.tuples_done, p.current_locker_pid AS locker
    FROM pg_stat_progress_create_index p JOIN pg_class t ON t.oid = p.relid
      JOIN pg_class i ON i.oid = p.index_relid
    WHERE p.datname = current_database() AND t.relnamespace = current_schema()::regnamespace
    ORDER BY name`
  const rows = (await read({ sql: '', text, values: [] })) as Row[]
  return rows.map((row) => {
    const [from, to] = PHASES[row.phase] ?? [0, 0]
    const [done, total] =
      row.blocks_total > 0
        ? [row.blocks_done, row.blocks_total]
        : [row.tuples_done, row.tuples_total]
    const part = total > 0 ? Math.min(1, done / total) : 0
    return {
      table: row.table_name,
      name: row.name,
      phase: row.phase,
      fraction: from + (to - from) * part,
      waitsFor: row.locker > 0 ? row.locker : undefined,
    }
  })
}
