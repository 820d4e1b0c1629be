/** The scope of rows of secrets, replays and outcomes; see `scopes-of-rows.ts`. */
const OWNED = [
  ['gh_api_key_secrets', 'hash', 'gh_api_keys', 'id', 'key_id'],
  ['gh_client_secrets', 'hash', 'gh_clients', 'client_id', 'client_id'],
  ['gh_webhook_secrets', 'no', 'gh_webhooks', 'no', 'webhook_no'],
  ['gh_webhook_replays', 'webhook_no', 'gh_webhooks', 'no', 'webhook_no'],
  ['gh_webhook_outcomes', 'webhook_no', 'gh_webhooks', 'no', 'webhook_no'],
] as const

/** Adds the column, and the trigger that fills it when an earlier release inserts a row. */
const added = OWNED.map(([table, key, owner, ownerKey, column]) => {
  const scope = `(SELECT scope FROM ${owner} WHERE ${ownerKey} = NEW.${column})`
  const update = `UPDATE ${table} SET scope = ${scope} WHERE ${key} = NEW.${key}`
  const on = `INSERT ON ${table}`
  const call = `FOR EACH ROW WHEN (NEW.scope IS NULL) EXECUTE FUNCTION ${table}_scope()`
  return `
ALTER TABLE ${table} ADD COLUMN scope {int};
{sqlite} CREATE TRIGGER ${table}_scope AFTER ${on} WHEN NEW.scope IS NULL BEGIN ${update}; END;
{postgres} CREATE FUNCTION ${table}_scope() RETURNS trigger LANGUAGE plpgsql AS
{postgres} 'BEGIN NEW.scope := ${scope}; RETURN NEW; END';
{postgres} CREATE TRIGGER ${table}_scope BEFORE ${on} ${call};
`
})

/** The keys that `ON CONFLICT` names. */
const keys = ['gh_webhook_replays', 'gh_webhook_outcomes'].map(
  (table) => `CREATE UNIQUE INDEX ${table}_key ON ${table} (scope, webhook_no);\n`,
)

export const scopesOfRows = [...added, ...keys].join('')
