/**
 * Functions of the same signatures as those of §17.2, for tests of a team without Gatehook: they
 * write to tables that the tests read. They replace nothing of an installation.
 */
import type { PostgresPlace } from '../../platform/storage/postgres-place.ts'
import { quotedName, raise, timeOrderedId } from '../../platform/storage/sql-function.ts'

const BODY_START = `LANGUAGE plpgsql AS $gatehook$
#variable_conflict use_column
DECLARE
  called timestamptz := clock_timestamp();
  result text;
  earlier jsonb;
BEGIN`

/** Returns the statements. `role`: uses the functions and the tables; by default every role. */
export function stubInstallation(
  { schema, qualify }: PostgresPlace,
  role: string | undefined,
): string[] {
  const user = role === undefined ? 'PUBLIC' : quotedName(role)
  const [emitted, customers] = [qualify('gatehook_emitted'), qualify('gatehook_customers')]
  return [
    `DO $gatehook$ BEGIN
  IF to_regclass('${qualify('gh_emissions')}') IS NOT NULL THEN
    RAISE EXCEPTION 'The schema ${schema} holds an installation: a stub is for tests.';
  END IF;
END $gatehook$`,
    `CREATE TABLE IF NOT EXISTS ${emitted} (id text PRIMARY KEY, type text NOT NULL,
  object jsonb NOT NULL, customer text, mode text, key text)`,
    `CREATE TABLE IF NOT EXISTS ${customers} (id text PRIMARY KEY, external_id text UNIQUE,
  name text NOT NULL)`,
    `CREATE OR REPLACE FUNCTION ${qualify('gatehook_emit')}(type text, object jsonb,
  customer text DEFAULT NULL, mode text DEFAULT NULL, key text DEFAULT NULL) RETURNS text
${BODY_START}
  IF gatehook_emit.type IS NULL OR jsonb_typeof(gatehook_emit.object) IS DISTINCT FROM 'object' THEN
    ${raise('22023', "'gatehook_emit: type is a text, and object a JSON object'")}
  END IF;
  SELECT e.id, e.object INTO result, earlier FROM ${emitted} e WHERE e.key = gatehook_emit.key
    AND e.type = gatehook_emit.type AND e.customer IS NOT DISTINCT FROM gatehook_emit.customer
    AND e.mode IS NOT DISTINCT FROM gatehook_emit.mode;
  IF earlier <> gatehook_emit.object THEN
    ${raise('22023', "'gatehook_emit: the key names another object'")}
  END IF;
  IF FOUND THEN
    RETURN result;
  END IF;
  INSERT INTO ${emitted} AS e (id, type, object, customer, mode, key)
    VALUES (${timeOrderedId('evt_')}, gatehook_emit.type, gatehook_emit.object,
      gatehook_emit.customer, gatehook_emit.mode, gatehook_emit.key) RETURNING e.id INTO result;
  RETURN result;
END $gatehook$`,
    `CREATE OR REPLACE FUNCTION ${qualify('gatehook_customer')}(external_id text, name text)
RETURNS text ${BODY_START}
  INSERT INTO ${customers} AS c (id, external_id, name) VALUES (${timeOrderedId('cus_')},
      gatehook_customer.external_id, gatehook_customer.name)
    ON CONFLICT (external_id) DO UPDATE SET name = c.name RETURNING c.id INTO result;
  RETURN result;
END $gatehook$`,
    `GRANT USAGE ON SCHEMA "${schema}" TO ${user}`,
    `GRANT ALL ON ${emitted}, ${customers} TO ${user}`,
  ]
}
