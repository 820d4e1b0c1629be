/**
 * SQL of functions that roles of other programs call with the rights of the owner (§17.2). Their
 * search path has no schema of a caller, and temporary tables last, so each name in them has its
 * schema. Pure.
 */
import type { PostgresPlace } from './postgres-place.ts'

/** Adds the schema of the installation to a name. */
export type SqlNames = Pick<PostgresPlace, 'qualify'>

/** Returns a text as SQL. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Returns a name as SQL. */
export const quotedName = (name: string): string => `"${name.replaceAll('"', '""')}"`

interface DefinerFunction {
  /** The name and the parameters. */
  readonly head: string
  readonly returns: string
  readonly body: string
}

/**
 * Returns the statement that creates the function, or replaces its body. Columns win over variables
 * of the same name, such as the parameters. Only texts with `E` have a backslash: in others its
 * meaning depends on a setting of the caller, as do the digits of a number.
 */
export const definerFunction = ({ head, returns, body }: DefinerFunction): string =>
  `CREATE OR REPLACE FUNCTION ${head} RETURNS ${returns}
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET extra_float_digits = 1 AS $gatehook$
#variable_conflict use_column
${body}
$gatehook$`

/** Returns a statement of PL/pgSQL that fails the transaction of the caller. */
export const raise = (
  code: '22023' | '40001' | '42501' | '55000',
  message: string,
  hint?: string,
): string =>
  `RAISE EXCEPTION USING ERRCODE = '${code}', MESSAGE = ${message}` +
  `${hint === undefined ? '' : `, HINT = ${quoted(hint)}`};`

const DIGITS = quoted('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz')

/** Returns SQL of a number in base62 (`kernel/base62.ts`). */
const base62 = (number: string, length: number): string =>
  `(SELECT string_agg(substr(${DIGITS}, (${number} / power(62, n)::bigint % 62)::int + 1, 1), ''
      ORDER BY n DESC) FROM generate_series(0, ${length - 1}) AS n)`

/**
 * Returns SQL of an id as `kernel/id.ts` generates it: the time of the variable `called`, its
 * microseconds, by which the ids of one transaction are in the order of its calls, and random
 * characters from the bytes of a UUID that are random.
 */
export const timeOrderedId = (prefix: string): string => `${quoted(prefix)}
    || ${base62('(extract(epoch FROM called) * 1000000)::bigint / 1000', 8)}
    || ${base62('(extract(epoch FROM called) * 1000000)::bigint % 1000', 3)}
    || (SELECT string_agg(substr(${DIGITS}, get_byte(r.bytes, at) % 62 + 1, 1), '')
      FROM (SELECT uuid_send(gen_random_uuid()) AS bytes) AS r,
        unnest(ARRAY[0, 1, 2, 3, 4, 5, 9, 10, 11, 12, 13]) AS at)`

/** Returns SQL of the milliseconds of the variable `called`. */
export const CALLED_MS = '(extract(epoch FROM called) * 1000000)::bigint / 1000'
