/**
 * Which roles of the database may emit events, and the statements that give them the right:
 * `gatehook outbox install` runs or prints these (§17.2).
 */
import {
  CUSTOMER_FUNCTION,
  customerFunction,
  selectNamedCustomer,
} from '../../identity/access/customer-function.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import type { PostgresPlace } from '../../platform/storage/postgres-place.ts'
import { prepareStatement, sql } from '../../platform/storage/sql.ts'
import { quoted, quotedName } from '../../platform/storage/sql-function.ts'
import { EMIT_FUNCTION, emitFunctions, hasAllCustomers, INNER_FUNCTIONS } from './emit-function.ts'

export interface EmissionGrant {
  readonly role: string
  /** Ids or external ids of customers; undefined: all. */
  readonly customers: readonly string[] | undefined
  /** Undefined: both. */
  readonly mode: 'live' | 'test' | undefined
  /** Undefined: all. */
  readonly types: readonly string[] | undefined
}

/**
 * Refuses a superuser as the owner of the functions, and a schema in which roles may create objects
 * that are neither the owner nor superusers.
 */
const checkOwner = (schema: string): string => `DO $gatehook$
DECLARE
  other text;
BEGIN
  IF (SELECT r.rolsuper FROM pg_catalog.pg_roles r WHERE r.rolname = current_user) THEN
    RAISE EXCEPTION 'The functions would have the rights of the superuser %: %', current_user,
      'set GATEHOOK_DATABASE_OWNER to a role without login that owns the schema.';
  END IF;
  SELECT coalesce(r.rolname::text, 'PUBLIC') INTO other FROM pg_catalog.pg_namespace n
    CROSS JOIN LATERAL pg_catalog.aclexplode(
      coalesce(n.nspacl, pg_catalog.acldefault('n', n.nspowner))) AS a
    LEFT JOIN pg_catalog.pg_roles r ON r.oid = a.grantee
    WHERE n.nspname = ${quoted(schema)} AND a.privilege_type = 'CREATE'
      AND r.rolname IS DISTINCT FROM current_user AND r.rolsuper IS NOT TRUE
      AND NOT (r.rolname = 'pg_database_owner' AND EXISTS (
        SELECT FROM pg_catalog.pg_database d JOIN pg_catalog.pg_roles o ON o.oid = d.datdba
        WHERE d.datname = current_database() AND (o.rolname = current_user OR o.rolsuper)))
    LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'The role % may create objects in the schema ${schema}: %', other,
      'REVOKE CREATE ON SCHEMA "${schema}" FROM it, or use another GATEHOOK_DATABASE_SCHEMA.';
  END IF;
END $gatehook$`

/**
 * Stores a grant; it fails for a customer that does not exist. It precedes the right to use the
 * schema, which a role that has it already retains after the revocation.
 */
function storeGrant({ schema, qualify }: PostgresPlace, grant: EmissionGrant): string {
  const { role, customers, mode, types } = grant
  const json = (texts: readonly string[] | undefined) =>
    texts === undefined ? 'NULL' : quoted(JSON.stringify(texts))
  const text = (value: string | undefined) => (value === undefined ? 'NULL' : quoted(value))
  return `DO $gatehook$
DECLARE
  named jsonb := ${json(customers)};
  ids jsonb;
BEGIN
  IF named IS NOT NULL THEN
    SELECT jsonb_agg(DISTINCT c.id) INTO ids FROM jsonb_array_elements_text(named) AS n(name)
      CROSS JOIN LATERAL (${selectNamedCustomer({ qualify }, 'n.name')}) AS c;
    IF jsonb_array_length(ids) IS DISTINCT FROM jsonb_array_length(named) THEN
      RAISE EXCEPTION 'Not all customers exist, or one is named twice: %.', named;
    END IF;
  END IF;
  INSERT INTO ${qualify('gh_emission_grants')} AS g (role, customers, mode, types, had_usage)
    SELECT r.rolname, ids::text, ${text(mode)}, ${json(types)}, EXISTS (SELECT
        FROM pg_catalog.pg_namespace n, pg_catalog.aclexplode(n.nspacl) AS a
        WHERE n.nspname = ${quoted(schema)} AND a.privilege_type = 'USAGE'
          AND a.grantee = r.oid)::int
      FROM pg_catalog.pg_roles r WHERE r.rolname = ${quoted(role)}
    ON CONFLICT (role) DO UPDATE SET customers = excluded.customers, mode = excluded.mode,
      types = excluded.types;
END $gatehook$`
}

/** Returns the statements that create the functions and the grant, or replace them. */
export function installation(
  place: PostgresPlace,
  grant: EmissionGrant,
  types: readonly string[],
): string[] {
  const { schema, qualify } = place
  const role = quotedName(grant.role)
  const all = [EMIT_FUNCTION, CUSTOMER_FUNCTION, ...INNER_FUNCTIONS]
  const create = customerFunction(place, hasAllCustomers(place))
  const mayCreate = grant.customers === undefined
  return [
    checkOwner(schema),
    ...emitFunctions(place),
    create,
    ...all.map((name) => `REVOKE ALL ON FUNCTION ${qualify(name)} FROM PUBLIC`),
    storeGrant(place, grant),
    `GRANT USAGE ON SCHEMA "${schema}" TO ${role}`,
    `GRANT EXECUTE ON FUNCTION ${qualify(EMIT_FUNCTION)} TO ${role}`,
    mayCreate
      ? `GRANT EXECUTE ON FUNCTION ${qualify(CUSTOMER_FUNCTION)} TO ${role}`
      : `REVOKE ALL ON FUNCTION ${qualify(CUSTOMER_FUNCTION)} FROM ${role}`,
    ...declareTypesSql(place, types),
  ]
}

/** Returns the statements that let SQL emit types. */
const declareTypesSql = (
  { qualify }: Pick<PostgresPlace, 'qualify'>,
  types: readonly string[],
): string[] =>
  types.length === 0
    ? []
    : [
        `INSERT INTO ${qualify('gh_emission_types')} (type)
  VALUES ${types.map((type) => `(${quoted(type)})`).join(', ')} ON CONFLICT DO NOTHING`,
      ]

/** Returns the statements that take the rights of a role with a grant, if it still exists. */
export const revocation = ({ schema, qualify }: PostgresPlace, role: string): string[] => {
  const user = quotedName(role)
  const functions = [EMIT_FUNCTION, CUSTOMER_FUNCTION].map(qualify).join(', ')
  return [
    `DO $gatehook$ BEGIN
  IF EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = ${quoted(role)}) THEN
    REVOKE ALL ON FUNCTION ${functions} FROM ${user};
    IF EXISTS (SELECT FROM ${qualify('gh_emission_grants')} g
      WHERE g.role = ${quoted(role)} AND g.had_usage = 0) THEN
      REVOKE USAGE ON SCHEMA "${schema}" FROM ${user};
    END IF;
  END IF;
END $gatehook$`,
  ]
}

export const deleteGrant = (tx: Tx, role: string): Promise<number> =>
  tx.run(sql`DELETE FROM gh_emission_grants WHERE role = ${role}`)

/** Replaces a grant that exists. Its customers are ids. */
export function replaceGrant(tx: Tx, { role, customers, mode, types }: EmissionGrant) {
  const textOf = (list: readonly string[] | undefined) => (list ? JSON.stringify(list) : null)
  return tx.run(sql`UPDATE gh_emission_grants SET customers = ${textOf(customers)},
    mode = ${mode ?? null}, types = ${textOf(types)} WHERE role = ${role}`)
}

export async function listGrants(from: Reader): Promise<EmissionGrant[]> {
  const rows = await from.all(sql`SELECT role, customers, mode, types FROM gh_emission_grants
    ORDER BY role`)
  const listOf = (json: string | null) => (json === null ? undefined : JSON.parse(json))
  return rows.map(({ role, customers, mode, types }) => ({
    role,
    customers: listOf(customers),
    mode: mode ?? undefined,
    types: listOf(types),
  }))
}

const declaredTypes = prepareStatement('SELECT type FROM gh_emission_types')

/** Returns the types that SQL emits, of all declarations that run. */
export const listEmittedTypes = async (from: Reader): Promise<string[]> =>
  (await from.all<{ type: string }>(declaredTypes([]))).map(({ type }) => type)

/** Lets SQL emit types, and not `removed` ones. */
export async function storeEmittedTypes(
  tx: Tx,
  added: readonly string[],
  removed: readonly string[],
): Promise<void> {
  for (const type of added) {
    await tx.run(sql`INSERT INTO gh_emission_types (type) VALUES (${type}) ON CONFLICT DO NOTHING`)
  }
  for (const type of removed) {
    await tx.run(sql`DELETE FROM gh_emission_types WHERE type = ${type}`)
  }
}

/**
 * SQL of 1 if a role may emit events, or if rows are left of one that might, else 0: a node polls
 * it. A transaction that was open when the grant was revoked may still commit.
 */
export const selectInstalled = () =>
  sql`(SELECT count(*) FROM (SELECT 1 FROM gh_emission_grants
    UNION ALL SELECT 1 FROM gh_emissions LIMIT 1) AS g)`
