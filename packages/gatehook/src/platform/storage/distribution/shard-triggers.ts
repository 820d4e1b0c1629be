/**
 * Triggers of distributed tables. Citus creates them on each shard, where they run on the server of
 * the shard, in its transaction. Their statements name a table by its shard of the same scope.
 */
import type { ShardTrigger } from '../table.ts'

/** Returns SQL for the name of the shard of a table that has the rows of a scope. */
export const shardOf = (table: string, scope: string): string =>
  `format('%I.%I', TG_TABLE_SCHEMA, '${table}_' || get_shard_id_for_distribution_column(
    format('%I.${table}', TG_TABLE_SCHEMA)::regclass, ${scope}))`

/** Returns the statements that create a trigger of a table that is distributed. */
export const createShardTrigger = ({ name, body, event }: ShardTrigger): string[] => [
  `CREATE OR REPLACE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN ${body} END $$`,
  `CREATE TRIGGER ${name} ${event} EXECUTE FUNCTION ${name}()`,
]
