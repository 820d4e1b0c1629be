/**
 * Tables that Citus distributes over several servers (decision 0059). Nodes connect to the
 * coordinator. The place of a table decides where its rows are (`table.ts`): a table of place
 * `scope` has shards by the column of that name, so that all rows of a customer and mode are on one
 * server; a `reference` table has a copy on each; a `local` table is on the coordinator alone.
 *
 * A database is distributed from its first migration on.
 */
import { type Row, type Statement, StorageError } from '../database.ts'
import { OWN_HORIZON } from '../postgres-horizon.ts'
import { prepareStatement } from '../sql.ts'
import type { Table } from '../table.ts'
import { createShardTrigger } from './shard-triggers.ts'

/** Changes of several shards use one connection to each server, so that each sees the others. */
export const CITUS_DDL = [
  "SET LOCAL citus.multi_shard_modify_mode = 'sequential'",
  'SET LOCAL citus.enable_unsafe_triggers = on',
] as const

/**
 * SQL for the oldest transaction of the server that has the rows of a statement. It is a function,
 * because Citus would read the views of the coordinator.
 */
export const SERVER_HORIZON = 'gh_server_horizon()'
export const CREATE_HORIZON = `CREATE OR REPLACE FUNCTION ${SERVER_HORIZON} RETURNS BIGINT
  LANGUAGE sql STABLE AS $$SELECT ${OWN_HORIZON}$$`

/**
 * Returns the statements that distribute a new table, with its triggers. `beside`: a table that is
 * distributed by scope, if there is one.
 */
export function distributeTable({ name, place, distribution }: Table, beside?: string): string[] {
  if (place === 'local') return []
  if (place === 'reference') return [`SELECT create_reference_table('${name}')`]
  const triggers = (distribution?.triggers ?? []).flatMap(createShardTrigger)
  return [distributeByScope(name, beside), ...triggers]
}

/**
 * Returns the statement that distributes a table by scope, with its shards where those of another
 * table are. Each of its keys contains the scope.
 */
export const distributeByScope = (table: string, beside = 'none'): string =>
  `SELECT create_distributed_table('${table}', 'scope', colocate_with => '${beside}')`

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
  EXISTS (SELECT 1 FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
    WHERE c.relnamespace = current_schema()::regnamespace
    AND c.relname LIKE 'gh\\_%') AS distributed`)

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
