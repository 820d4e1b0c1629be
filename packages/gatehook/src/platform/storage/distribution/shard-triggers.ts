/**
 * Triggers of distributed tables. Citus creates them on each shard, where they run on the server of
 * the shard, in its transaction. Their statements name a table by its shard of the same scope.
 */
import type { RunDdl } from '../partitions/catalog.ts'

/** SQL for the name of the shard of a table that has the rows of a scope. */
const shardOf = (table: string, scope: string): string =>
  `format('%I.%I', TG_TABLE_SCHEMA, '${table}_' || get_shard_id_for_distribution_column(
    format('%I.${table}', TG_TABLE_SCHEMA)::regclass, ${scope}))`

const QUEUE = 'gh_delivery_queue'
const COLUMNS = '(scope, webhook_no, next_attempt_at, id)'
const INSERT = `EXECUTE 'INSERT INTO ' || ${shardOf(QUEUE, 'NEW.scope')} ||
  ' ${COLUMNS} VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING'
  USING NEW.scope, NEW.webhook_no, NEW.next_attempt_at, NEW.id`
const REMOVE = `EXECUTE 'DELETE FROM ' || ${shardOf(QUEUE, 'OLD.scope')} ||
  ' WHERE ${COLUMNS} = ($1, $2, $3, $4)'
  USING OLD.scope, OLD.webhook_no, OLD.next_attempt_at, OLD.id`

/** The name and the body of each function, and the event of its trigger. */
const triggers = [
  {
    name: 'gh_delivery_enters',
    body: `${INSERT}; RETURN NULL;`,
    event: `AFTER INSERT ON gh_deliveries FOR EACH ROW WHEN (NEW.state = 'pending')`,
  },
  {
    name: 'gh_delivery_waits',
    body: `IF OLD.state = 'pending' THEN ${REMOVE}; END IF;
      IF NEW.state = 'pending' THEN ${INSERT}; END IF; RETURN NULL;`,
    event: `AFTER UPDATE OF state, next_attempt_at ON gh_deliveries FOR EACH ROW
      WHEN (OLD.state IS DISTINCT FROM NEW.state
        OR OLD.next_attempt_at IS DISTINCT FROM NEW.next_attempt_at)`,
  },
  {
    name: 'gh_delivery_leaves',
    body: `${REMOVE}; RETURN NULL;`,
    event: `AFTER DELETE ON gh_deliveries FOR EACH ROW WHEN (OLD.state = 'pending')`,
  },
  // A feed is read on the server of its scope, so its transactions are those of that server. Moved
  // events have those of their source.
  {
    name: 'gh_event_txid',
    body: `NEW.txid := pg_current_xact_id()::text::bigint + gh_txid_epoch(); RETURN NEW;`,
    event: 'BEFORE INSERT ON gh_events FOR EACH ROW WHEN (NEW.txid = 0)',
  },
] as const

/** Creates the triggers of deliveries and events. The tables are distributed. */
export async function createShardTriggers(ddl: RunDdl): Promise<void> {
  for (const { name, body, event } of triggers) {
    await ddl(`CREATE OR REPLACE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN ${body} END $$`)
    await ddl(`CREATE TRIGGER ${name} ${event} EXECUTE FUNCTION ${name}()`)
  }
}
