/**
 * SQL of customers in functions that the team's own transactions call (§17.2): a customer by its
 * name, and the function that creates one.
 */
import { requireStay } from '../../platform/storage/move/stay-function.ts'
import {
  CALLED_MS,
  definerFunction,
  raise,
  type SqlNames,
  timeOrderedId,
} from '../../platform/storage/sql-function.ts'
import { CUSTOMER_PREFIX, DEFAULT_CUSTOMER } from './administration.ts'

/** Returns SQL that reads `no` and `id` of the customer that SQL names by its id or external id. */
export const selectNamedCustomer = ({ qualify }: SqlNames, name: string): string =>
  `SELECT c.no, c.id FROM ${qualify('gh_customers')} c
    WHERE c.deleting_since IS NULL AND (c.external_id = ${name}
      OR c.id = CASE ${name} WHEN 'default' THEN '${DEFAULT_CUSTOMER}' ELSE ${name} END)`

/** The parameters of the function, for GRANT. */
export const CUSTOMER_FUNCTION = 'gatehook_customer(text, text)'

const EXTERNAL_ID =
  '1 to 200 visible ASCII characters without a comma, and differ from ids of customers'

/** Control characters, and those of `protocol/fields/kinds/line.ts` that deceive readers. */
const NO_LINE = [
  [0x01, 0x1f],
  [0x7f, 0x9f],
  [0x61c, 0x61c],
  [0x200b, 0x200b],
  [0x200e, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x2060],
  [0x2066, 0x2069],
  [0xfeff, 0xfeff],
]
const isInRange = ([from, to]: readonly number[]) => `code BETWEEN ${from} AND ${to}`

/**
 * Returns the function that creates a customer, or returns the id of a customer with the external
 * id. `mayCreate`: SQL of whether the caller may.
 */
export const customerFunction = ({ qualify }: SqlNames, mayCreate: string): string =>
  definerFunction({
    head: `${qualify('gatehook_customer')}(external_id text, name text)`,
    returns: 'text',
    body: `DECLARE
  wanted text := gatehook_customer.external_id;
  title text := gatehook_customer.name;
  called timestamptz := clock_timestamp();
  result text;
  ending bigint;
BEGIN
  IF NOT ${mayCreate} THEN
    ${raise('42501', "'gatehook_customer: the role has no grant for all customers'")}
  END IF;
  ${requireStay({ qualify })}
  IF wanted IS NULL OR wanted COLLATE "C" !~ '^[!-+.-~-]{1,200}$'
    OR wanted = 'default' OR wanted ^@ '${CUSTOMER_PREFIX}' THEN
    ${raise('22023', `'gatehook_customer: external_id must be ${EXTERNAL_ID}'`)}
  END IF;
  IF title IS NULL OR char_length(title) > 200 OR btrim(title) = '' OR EXISTS (
    SELECT FROM (SELECT ascii(t.part) AS code FROM regexp_split_to_table(title, '') AS t(part)) AS s
    WHERE ${NO_LINE.map(isInRange).join(' OR ')}) THEN
    ${raise('22023', "'gatehook_customer: name must be one line of 1 to 200 characters'")}
  END IF;
  FOR n IN 1..3 LOOP
    SELECT c.id, c.deleting_since INTO result, ending FROM ${qualify('gh_customers')} c
      WHERE c.external_id = wanted;
    IF FOUND THEN
      EXIT WHEN ending IS NULL;
      ${raise('22023', "'gatehook_customer: the customer is being deleted'")}
    END IF;
    INSERT INTO ${qualify('gh_customers')} AS c
      (id, name, external_id, created_at, unaudited_role)
      VALUES (${timeOrderedId(CUSTOMER_PREFIX)}, title, wanted, ${CALLED_MS}, session_user)
      ON CONFLICT DO NOTHING RETURNING c.id INTO result;
    EXIT WHEN FOUND;
  END LOOP;
  IF result IS NULL THEN
    ${raise('40001', "'gatehook_customer: another transaction has changed the customer'")}
  END IF;
  RETURN result;
END`,
  })
