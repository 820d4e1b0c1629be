/**
 * Triggers of distributed tables. Citus creates them on each shard, where they run on the server of
 * the shard, in its transaction.
 */
import type { ShardTrigger } from '../table.ts'

/** Returns the statements that create a trigger of a table that is distributed. */
export const createShardTrigger = ({ name, body, event }: ShardTrigger): string[] => [
  `CREATE OR REPLACE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN ${body} END $$`,
  `CREATE TRIGGER ${name} ${event} EXECUTE FUNCTION ${name}()`,
]
