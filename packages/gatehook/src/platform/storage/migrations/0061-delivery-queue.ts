/**
 * The queue of deliveries (decision 0058): an entry for each pending delivery, at its time.
 * Triggers derive it from the rows of `gh_deliveries`, whichever release writes them. So no index
 * of that table contains a column that a successful attempt changes, and PostgreSQL updates its
 * row in place (HOT). `failed` is 1 for failed and exhausted deliveries, which have indexes of
 * their own.
 *
 * The index by time is on an expression, so that PostgreSQL uses it for no statement that names a
 * registration: its plans may be older than the rows of the queue.
 *
 * The indexes of earlier releases on the state are dropped here if the table is empty or on SQLite,
 * which no other release uses at the same time; otherwise see `platform/storage/engine-indexes.ts`.
 */
const actions = {
  enters: `INSERT INTO gh_delivery_queue (scope, webhook_no, next_attempt_at, id)
    VALUES (NEW.scope, NEW.webhook_no, NEW.next_attempt_at, NEW.id)`,
  waits: `INSERT INTO gh_delivery_queue (scope, webhook_no, next_attempt_at, id)
    VALUES (NEW.scope, NEW.webhook_no, NEW.next_attempt_at, NEW.id) ON CONFLICT DO NOTHING`,
  leaves: `DELETE FROM gh_delivery_queue WHERE webhook_no = OLD.webhook_no
    AND next_attempt_at = OLD.next_attempt_at AND id = OLD.id`,
  // Earlier releases do not set the column.
  fails: 'UPDATE gh_deliveries SET failed = 1 WHERE scope = NEW.scope AND id = NEW.id',
} as const

const HAS_MOVED = `OLD.state = 'pending'
  AND (NEW.state <> 'pending' OR NEW.next_attempt_at <> OLD.next_attempt_at)`
const IS_UNMARKED = "NEW.failed IS NULL AND NEW.state IN ('failed', 'exhausted')"

const triggers = [
  ['enters', 'INSERT', "NEW.state = 'pending'"],
  ['waits', 'UPDATE OF state, next_attempt_at', "NEW.state = 'pending'"],
  ['leaves', 'UPDATE OF state, next_attempt_at', HAS_MOVED],
  ['leaves', 'DELETE', "OLD.state = 'pending'"],
  ['fails', 'INSERT', IS_UNMARKED],
  ['fails', 'UPDATE OF state', IS_UNMARKED],
] as const

const line = (text: string) => `${text.replace(/\s+/g, ' ')}\n`

/** A session may plan the deletion while the queue is empty. */
const functions = Object.entries(actions).map(([name, action]) =>
  line(`{postgres} CREATE FUNCTION gh_delivery_${name}() RETURNS trigger LANGUAGE plpgsql
    ${name === 'leaves' ? 'SET enable_seqscan = off' : ''}
    AS $$ BEGIN ${action}; RETURN NULL; END $$;`),
)

const created = triggers.map(([action, event, condition]) => {
  const operation = event.slice(0, 6).toLowerCase()
  const trigger = `CREATE TRIGGER gh_delivery_${action}_${operation} AFTER ${event}
    ON gh_deliveries FOR EACH ROW WHEN (${condition})`
  return (
    line(`{sqlite} ${trigger} BEGIN ${actions[action]}; END;`) +
    line(`{postgres} ${trigger} EXECUTE FUNCTION gh_delivery_${action}();`)
  )
})

const indexes = [
  'CREATE INDEX gh_deliveries_failures ON gh_deliveries (webhook_no, id) WHERE failed = 1;',
  'CREATE INDEX gh_deliveries_failure_numbers ON gh_deliveries (no) WHERE failed = 1;',
  ...['due', 'due_at', 'failed', 'unsuccessful'].map(
    (name) => `DROP INDEX IF EXISTS gh_deliveries_${name};`,
  ),
].join(' ')

export const deliveryQueue = `
CREATE TABLE gh_delivery_queue (
  scope {int} NOT NULL,
  webhook_no {int} NOT NULL,
  next_attempt_at {int} NOT NULL,
  id {text} NOT NULL,
  PRIMARY KEY (webhook_no, next_attempt_at, id)
{sqlite} ) WITHOUT ROWID;
{postgres} );
CREATE INDEX gh_delivery_queue_due ON gh_delivery_queue ((next_attempt_at + 0));
{postgres} ALTER TABLE gh_deliveries SET (fillfactor = 45);
ALTER TABLE gh_deliveries ADD COLUMN failed {int};
ALTER TABLE gh_delivery_nodes ADD COLUMN release {int} NOT NULL DEFAULT 0;
{sqlite} ${indexes}
{postgres} DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM gh_deliveries) THEN ${indexes} END IF; END $$;
${functions.join('')}${created.join('')}`
