/**
 * Rows whose stored derived values a process did not write, because its declaration lacks them
 * (decision 0040). Triggers of the tables of resources add the rows;
 * `declare/resources/stale-rows.ts` creates the triggers.
 */
const FUNCTION = `CREATE FUNCTION gh_mark_stale_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'DELETE' THEN INSERT INTO gh_stale_rows (scope, derivation, id)
    VALUES (OLD.scope, TG_ARGV[0], OLD.id::text) ON CONFLICT DO NOTHING;
  ELSE INSERT INTO gh_stale_rows (scope, derivation, id)
    VALUES (NEW.scope, TG_ARGV[0], NEW.id::text) ON CONFLICT DO NOTHING; END IF;
  RETURN NULL; END $$`.replace(/\s+/g, ' ')

export const staleRows = `
CREATE TABLE gh_derivations (name {text} NOT NULL PRIMARY KEY, resource {text} NOT NULL);
CREATE TABLE gh_stale_rows (scope {int} NOT NULL, derivation {text} NOT NULL, id {text} NOT NULL,
  PRIMARY KEY (scope, derivation, id));
CREATE INDEX gh_stale_rows_by_derivation ON gh_stale_rows (derivation, scope, id);
{postgres} ${FUNCTION};
`
