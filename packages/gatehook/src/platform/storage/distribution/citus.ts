/**
 * Tables that Citus distributes over several servers (decision 0059). Nodes connect to the
 * coordinator. The kind of a table decides where its rows are (`table-kinds.ts`): a table of kind
 * `scope` has shards by the column of that name, so that all rows of a customer and mode are on one
 * server; a `reference` table has a copy on each; a `local` table is on the coordinator alone.
 *
 * A database is distributed from its first migration on.
 */
import { type Row, type Statement, StorageError, type Tx } from '../database.ts'
import type { RunDdl } from '../partitions/catalog.ts'
import { OWN_HORIZON } from '../postgres-horizon.ts'
import { prepareStatement } from '../sql.ts'
import { type TableKind, tableKinds } from '../table-kinds.ts'
import { createShardTriggers } from './shard-triggers.ts'

/** Changes of several shards use one connection to each server, so that each sees the others. */
export const CITUS_DDL = [
  "SET LOCAL citus.multi_shard_modify_mode = 'sequential'",
  'SET LOCAL citus.enable_unsafe_triggers = on',
] as const

/** All tables that are distributed by scope have their shards where this one has them. */
const ANCHOR = 'gh_counters'

const present = prepareStatement(`SELECT c.relname AS name FROM pg_class c
  WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema()))
    AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND NOT EXISTS (SELECT 1 FROM pg_dist_partition d WHERE d.logicalrelid = c.oid)
  ORDER BY c.relname <> '${ANCHOR}', c.relname`)

/**
 * SQL for the oldest transaction of the server that has the rows of a statement. It is a function,
 * because Citus would read the views of the coordinator.
 */
export const SERVER_HORIZON = 'gh_server_horizon()'
const CREATE_HORIZON = `CREATE OR REPLACE FUNCTION ${SERVER_HORIZON} RETURNS BIGINT
  LANGUAGE sql STABLE AS $$SELECT ${OWN_HORIZON}$$`

/**
 * Milliseconds instead of a sequence: the coordinator would read the rows of an INSERT … SELECT, to
 * number them, and commit on two servers. The deliveries of a transaction have the same number, so
 * that lists of all customers are in the order of the ids.
 */
const NUMBER_BY_TIME = [
  `ALTER TABLE gh_deliveries ALTER COLUMN no DROP IDENTITY,
    ALTER COLUMN no SET DEFAULT CAST(extract(epoch FROM now()) * 1000 AS BIGINT)`,
  'CREATE INDEX gh_deliveries_by_id ON gh_deliveries (id)',
  'CREATE INDEX gh_deliveries_failed_by_id ON gh_deliveries (id) WHERE failed = 1',
]

/** Distributes the tables of the engine that are not distributed yet. */
export async function distributeEngine(tx: Tx, ddl: RunDdl): Promise<void> {
  const names = (await tx.all<{ name: string }>(present([]))).map(({ name }) => name)
  if (names.includes('gh_events'))
    await ddl('ALTER TABLE gh_events ALTER COLUMN txid SET DEFAULT 0')
  if (names.includes('gh_deliveries')) {
    for (const statement of NUMBER_BY_TIME) await ddl(statement)
  }
  for (const name of names) await distribute(tx, ddl, name, tableKinds[name] ?? 'local')
  if (!names.includes('gh_deliveries')) return
  await createShardTriggers(ddl)
  await ddl(CREATE_HORIZON)
}

/** Returns the statement that distributes a table by scope. Each of its keys contains the scope. */
export const distributeByScope = (table: string): string =>
  `SELECT create_distributed_table('${table}', 'scope', colocate_with => ` +
  `'${table === ANCHOR ? 'none' : ANCHOR}')`

async function distribute(tx: Tx, ddl: RunDdl, table: string, kind: TableKind): Promise<void> {
  if (kind === 'local') return
  await dropTriggers(tx, ddl, table)
  if (kind === 'reference') return ddl(`SELECT create_reference_table('${table}')`)
  await addScopeToKeys(tx, ddl, table)
  await ddl(distributeByScope(table))
}

const triggersOf = prepareStatement(`SELECT tgname AS name FROM pg_trigger
  WHERE tgrelid = to_regclass(quote_ident(?)) AND NOT tgisinternal`)

/** They complete rows of earlier releases, which use no distributed database. */
async function dropTriggers(tx: Tx, ddl: RunDdl, table: string): Promise<void> {
  for (const { name } of await tx.all(triggersOf([table]))) {
    await ddl(`DROP TRIGGER ${name} ON ${table}`)
  }
}

const keysWithoutScope = prepareStatement(`SELECT c.relname AS name, i.indisprimary AS is_primary,
    pg_get_indexdef(i.indexrelid) AS definition
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE i.indrelid = to_regclass(quote_ident(?)) AND i.indisunique AND NOT EXISTS
    (SELECT 1 FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attname = 'scope'
     AND a.attnum = ANY (i.indkey))`)

/**
 * Each server verifies the keys of its own rows, so a key contains the scope. Statements that do
 * not name it, such as that of a session by its id, use an index of the former columns.
 */
async function addScopeToKeys(tx: Tx, ddl: RunDdl, table: string): Promise<void> {
  for (const { name, is_primary, definition } of await tx.all(keysWithoutScope([table]))) {
    const columns = /\(([^()]*)\)/.exec(definition)![1]
    await ddl(`CREATE INDEX ${name}_former ON ${table} (${columns})`)
    if (is_primary) {
      await ddl(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`)
      await ddl(`ALTER TABLE ${table} ALTER COLUMN scope SET NOT NULL`)
      await ddl(`ALTER TABLE ${table} ADD CONSTRAINT ${name} PRIMARY KEY (scope, ${columns})`)
    } else {
      await ddl(`DROP INDEX ${name}`)
      await ddl(definition.replace(`(${columns})`, `(scope, ${columns})`))
    }
  }
}

/** Sentences for the operator about a server that cannot distribute tables, or has not. */
const NO_EXTENSION =
  'GATEHOOK_DATABASE_DISTRIBUTED is citus, and the database has no extension citus. Run ' +
  'CREATE EXTENSION citus there and on each worker, and add the workers with citus_add_node.'
const NO_WORKERS =
  'GATEHOOK_DATABASE_DISTRIBUTED is citus, and no server of the cluster has shards. Add workers ' +
  'with citus_add_node.'
const NOT_DISTRIBUTED =
  'GATEHOOK_DATABASE_DISTRIBUTED is citus, and the tables of this database are not distributed. ' +
  'Move the installation to a new database with gatehook move.'

const extension = prepareStatement(`SELECT to_regclass('pg_dist_node') IS NOT NULL AS installed,
  to_regclass('gh_migrations') IS NOT NULL AS migrated`)
const cluster = prepareStatement(`SELECT
  EXISTS (SELECT 1 FROM pg_dist_node WHERE shouldhaveshards AND isactive) AS workers,
  EXISTS (SELECT 1 FROM pg_dist_partition
    WHERE logicalrelid = to_regclass('${ANCHOR}')) AS distributed`)

/**
 * Returns whether the tables of the database are distributed, or will be by its first migration.
 * Throws `StorageError` if they should be and cannot.
 */
export async function readDistribution(
  get: (statement: Statement) => Promise<Row>,
  isRequired: boolean,
): Promise<boolean> {
  const { installed, migrated } = await get(extension([]))
  if (!installed) {
    if (isRequired) throw new StorageError(NO_EXTENSION)
    return false
  }
  const { workers, distributed } = await get(cluster([]))
  if (distributed) return true
  if (!isRequired) return false
  if (migrated) throw new StorageError(NOT_DISTRIBUTED)
  if (!workers) throw new StorageError(NO_WORKERS)
  return true
}
