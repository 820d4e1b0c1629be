/**
 * The SQL functions of §17.2: `gatehook_emit`, and those that it calls. They verify the
 * caller's grants first, so that it learns nothing about customers and types beyond them.
 */

import { EVENT_MAX_BYTES } from '../../history/events/event.ts'
import { selectNamedCustomer } from '../../identity/access/customer-function.ts'
import {
  requireStay,
  STAY_FUNCTION,
  stayFunction,
} from '../../platform/storage/move/stay-function.ts'
import {
  CALLED_MS,
  definerFunction,
  raise,
  type SqlNames,
  timeOrderedId,
} from '../../platform/storage/sql-function.ts'
import {
  JSON_NAMES_MAX,
  JSON_VALUES_MAX,
  MAX_DEPTH,
  WIDE_MEMBERS,
} from '../../protocol/http/json-body.ts'

/** Bytes of the body of an event beside its object and its type. */
const ENVELOPE_BYTES = 128
/** Levels of a body of `POST /events` around an object: the body and its member. */
const LEVELS_ABOVE = 1
const KEY_MAX = 255
/** A repeated key adds no event for this time. */
export const KEY_MS = 24 * 3_600_000

const GRANT_HINT = 'gatehook outbox list prints the grants.'
const TYPE_HINT = 'Declare it in externalEvents, and run gatehook migrate.'
const CUSTOMER_HINT = 'gatehook_customer(external_id, name) creates one.'

/** The functions by which GRANT and REVOKE name them. */
export const EMIT_FUNCTION = 'gatehook_emit(text, jsonb, text, text, text)'
export const INNER_FUNCTIONS = ['gatehook_grants(name)', STAY_FUNCTION] as const

/** The grants of a role, those of its memberships included. */
const grantsFunction = ({ qualify }: SqlNames): string =>
  `CREATE OR REPLACE FUNCTION ${qualify('gatehook_grants')}(holder name)
RETURNS TABLE (customers jsonb, mode text, types jsonb) LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $gatehook$
  SELECT g.customers::jsonb, g.mode, g.types::jsonb FROM ${qualify('gh_emission_grants')} g
  JOIN pg_catalog.pg_roles r ON r.rolname = g.role::name
  WHERE pg_has_role(holder, r.oid, 'MEMBER')
$gatehook$`

/** The session's role and the role of SET ROLE: a caller needs the grants of both. */
const HOLDERS = `CASE current_setting('role') WHEN 'none' THEN ARRAY[session_user::name]
    ELSE ARRAY[session_user::name, current_setting('role')::name] END`

/** SQL of whether the caller's grants have no bound of customers. */
export const hasAllCustomers = ({ qualify }: SqlNames): string =>
  `(SELECT bool_and(EXISTS (SELECT FROM ${qualify('gatehook_grants')}(holder) AS g
    WHERE g.customers IS NULL)) FROM unnest(${HOLDERS}) AS holder)`

/** Texts of the object whose characters are no structure, as a regular expression. */
const STRING = '"(?:[^"\\\\\\\\]|\\\\\\\\.)*"'
/** SQL of the object in which equal numbers have one text: that of `1.0` ends with its zero. */
const CANONICAL = `CASE WHEN content !~ '[.][0-9]*0[],}]' THEN content ELSE regexp_replace(content,
      E'(${STRING})|([.][0-9]*[1-9])0+(?![0-9])|[.]0+(?![0-9])', E'\\\\1\\\\2', 'g') END`

const refuse = (sentence: string): string => raise('22023', `'gatehook_emit: ${sentence}'`)

/** A shorter object has fewer names than a body may have: `"a":0,` are six bytes. */
const COUNTED_BYTES = 5 * JSON_NAMES_MAX
const numberOf = (count: number): string => count.toLocaleString('en')

/** The values and names of the object, as `measureJson` counts those of a body. */
const PART_CHECKS = `
  IF (SELECT count(*) + count(*) FILTER (WHERE p.value IN ('{}', '[]'))
      FROM jsonb_path_query(payload, 'strict $.**') AS p(value)) > ${JSON_VALUES_MAX} THEN
    ${refuse(`object has more than ${numberOf(JSON_VALUES_MAX)} values`)}
  END IF;
  IF (SELECT count(DISTINCT k.name) FILTER (WHERE k.nth <= ${WIDE_MEMBERS})
        + count(*) FILTER (WHERE k.nth > ${WIDE_MEMBERS})
      FROM jsonb_path_query(payload, 'strict $.** ? (@.type() == "object")') AS p(value)
      CROSS JOIN LATERAL jsonb_object_keys(p.value) WITH ORDINALITY AS k(name, nth))
      > ${JSON_NAMES_MAX} THEN
    ${refuse(`object has more than ${numberOf(JSON_NAMES_MAX)} names of members`)}
  END IF;`

/** The object as `POST /events` accepts it: by its form, its numbers and its size. */
const OBJECT_CHECKS = `
  IF payload IS NULL OR jsonb_typeof(payload) <> 'object' THEN
    ${refuse('object must be a JSON object')}
  END IF;
  content := payload::text;
  size := octet_length(content);
  IF size > bound AND size <= 2 * bound THEN
    -- PostgreSQL writes a space after each comma and colon, and the event has none.
    structure := regexp_replace(content, E'${STRING}', '', 'g');
    size := size - (length(structure) - length(replace(structure, ' ', '')));
  END IF;
  IF size > bound THEN
    ${refuse('object is beyond 256 KiB')}
  END IF;
  -- A path to the last level would recur as deep as the object.
  IF jsonb_path_exists(payload, 'strict $.**{${MAX_DEPTH - LEVELS_ABOVE}} ?
      (@.type() == "object" || @.type() == "array")') THEN
    ${refuse(`object is nested deeper than ${MAX_DEPTH - LEVELS_ABOVE} levels`)}
  END IF;
  -- Each value is read with all that is in it: the levels bound the work.
  IF size > ${COUNTED_BYTES} THEN
    ${PART_CHECKS}
  END IF;
  IF jsonb_path_exists(payload, '$.**."__proto__"')
    OR jsonb_path_exists(payload, '$.**."constructor"."prototype"') THEN
    ${refuse('object has a member named __proto__ or constructor.prototype')}
  END IF;
  IF EXISTS (SELECT FROM
      jsonb_path_query(payload, 'strict $.** ? (@.type() == "number")') AS q(value)
    CROSS JOIN LATERAL (SELECT q.value::numeric AS exact) AS v
    WHERE CASE
      WHEN abs(v.exact) > 1.7976931348623157e308 THEN true
      WHEN v.exact = trunc(v.exact) THEN abs(v.exact) > 9007199254740991
        AND v.exact::float8::text::numeric <> v.exact
      WHEN abs(v.exact) < 2.3e-308 THEN true
      ELSE v.exact::float8 = trunc(v.exact::float8) END) THEN
    ${refuse('object has a number that would lose digits')}
  END IF;`

/** Takes what the role has exactly one of, and requires the grants of both holders. */
const grantChecks = (names: SqlNames): string => {
  const grants = names.qualify('gatehook_grants')
  const own = `${grants}(holders[cardinality(holders)]) AS g`
  return `  IF owner IS NULL THEN
    SELECT min(c.id) INTO owner FROM ${own}
      LEFT JOIN LATERAL jsonb_array_elements_text(g.customers) AS c(id) ON true
      HAVING bool_and(g.customers IS NOT NULL) AND count(DISTINCT c.id) = 1;
    IF owner IS NULL AND EXISTS (SELECT FROM ${own}) THEN
      ${refuse('name the customer: the role has a grant for several')}
    END IF;
  END IF;
  IF lane IS NULL THEN
    SELECT min(g.mode) INTO lane FROM ${own}
      HAVING bool_and(g.mode IS NOT NULL) AND count(DISTINCT g.mode) = 1;
    IF lane IS NULL AND EXISTS (SELECT FROM ${own}) THEN
      ${refuse('name the mode, live or test: the role has a grant for both')}
    END IF;
  END IF;
  SELECT n.no, n.id INTO owner_no, owner_id FROM (${selectNamedCustomer(names, 'owner')}) AS n;
  IF EXISTS (SELECT FROM unnest(holders) AS holder WHERE NOT EXISTS (
    SELECT FROM ${grants}(holder) AS g
    WHERE (g.customers IS NULL OR g.customers ? owner_id) AND (g.mode IS NULL OR g.mode = lane)
      AND (g.types IS NULL OR g.types ? kind))) THEN
    ${raise('42501', `'gatehook_emit: the role has no grant for ${GRANTED}'`, GRANT_HINT)}
  END IF;
`
}
const GRANTED = 'this customer, mode and type'

const NO_TYPE = "format('gatehook_emit: SQL emits no event of the type %L', left(kind, 100))"
const NO_CUSTOMER = "format('gatehook_emit: there is no customer %L', left(owner, 200))"

/** Requires a declared type, a mode and a customer, where the installation is. */
const argumentChecks = ({ qualify }: SqlNames): string =>
  `  ${requireStay({ qualify })}
  IF kind IS NULL OR NOT EXISTS (
    SELECT FROM ${qualify('gh_emission_types')} t WHERE t.type = kind) THEN
    ${raise('22023', NO_TYPE, TYPE_HINT)}
  END IF;
  IF lane NOT IN ('live', 'test') THEN
    ${refuse('mode must be live or test')}
  END IF;
  IF owner_no IS NULL THEN
    ${raise('22023', NO_CUSTOMER, CUSTOMER_HINT)}
  END IF;
`

const emitFunction = (names: SqlNames): string => {
  const { qualify } = names
  return definerFunction({
    head: `${qualify('gatehook_emit')}(type text, object jsonb, customer text DEFAULT NULL,
  mode text DEFAULT NULL, key text DEFAULT NULL)`,
    returns: 'text',
    body: `DECLARE
  kind text := gatehook_emit.type;
  payload jsonb := gatehook_emit.object;
  owner text := gatehook_emit.customer;
  lane text := gatehook_emit.mode;
  repeat_key text := gatehook_emit.key;
  holders name[] := ${HOLDERS};
  bound int := ${EVENT_MAX_BYTES - ENVELOPE_BYTES} - coalesce(octet_length(gatehook_emit.type), 0);
  called timestamptz := clock_timestamp();
  content text;
  structure text;
  size int;
  owner_no bigint;
  owner_id text;
  digest text;
  key_digest text;
  result text;
  earlier record;
BEGIN
${grantChecks(names)}${argumentChecks(names)}
  IF repeat_key = '' OR char_length(repeat_key) > ${KEY_MAX} THEN
    ${refuse(`key must be 1 to ${KEY_MAX} characters`)}
  END IF;
${OBJECT_CHECKS}
  result := ${timeOrderedId('evt_')};
  IF repeat_key IS NOT NULL THEN
    key_digest := encode(sha256(convert_to(repeat_key, 'UTF8')), 'hex');
    digest := encode(sha256(convert_to(${CANONICAL}, 'UTF8')), 'hex');
  END IF;
  FOR n IN 1..3 LOOP
    INSERT INTO ${qualify('gh_emissions')}
      (id, scope, type, key_hash, object, object_hash, created_at, txid)
      VALUES (result, owner_no * 2 + CASE lane WHEN 'live' THEN 1 ELSE 0 END, kind, key_digest,
        content, digest, ${CALLED_MS}, pg_current_xact_id()::text::bigint)
      ON CONFLICT DO NOTHING;
    IF FOUND THEN
      RETURN result;
    END IF;
    SELECT e.no, e.id, e.object_hash, e.created_at INTO earlier FROM ${qualify('gh_emissions')} e
      WHERE e.scope = owner_no * 2 + CASE lane WHEN 'live' THEN 1 ELSE 0 END AND e.type = kind
        AND e.key_hash = key_digest;
    CONTINUE WHEN NOT FOUND;
    IF earlier.created_at > ${CALLED_MS} - ${KEY_MS} THEN
      IF earlier.object_hash = digest THEN
        RETURN earlier.id;
      END IF;
      ${refuse('the key names another object')}
    END IF;
    UPDATE ${qualify('gh_emissions')} e SET key_hash = NULL
      WHERE e.no = earlier.no AND e.key_hash = key_digest;
  END LOOP;
  ${raise('40001', "'gatehook_emit: another transaction uses the key'")}
END`,
  })
}

/** Returns the statements that create the functions, or replace their bodies. */
export const emitFunctions = (names: SqlNames): readonly string[] => [
  grantsFunction(names),
  stayFunction(names),
  emitFunction(names),
]
