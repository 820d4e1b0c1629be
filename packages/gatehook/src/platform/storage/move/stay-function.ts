/**
 * The SQL function that fails a transaction of the team on a source that `gatehook move` has left,
 * or is about to leave (§17.2). Pure.
 */
import { raise, type SqlNames } from '../sql-function.ts'

const MOVED_HINT = 'Use the database that gatehook move has named.'

/** The function by which GRANT and REVOKE name it. */
export const STAY_FUNCTION = 'gatehook_stay()'

export const stayFunction = ({ qualify }: SqlNames): string =>
  `CREATE OR REPLACE FUNCTION ${qualify('gatehook_stay')}() RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $gatehook$
DECLARE
  left_for text;
BEGIN
  SELECT m.target INTO left_for FROM ${qualify('gh_move')} m WHERE m.state <> 'copying';
  IF FOUND THEN
    ${raise('55000', "'the installation has moved to another database'", MOVED_HINT)}
  END IF;
END $gatehook$`

/** Returns the statement of PL/pgSQL that calls it; the table exists during a move only. */
export const requireStay = ({ qualify }: SqlNames): string =>
  `IF to_regclass('${qualify('gh_move')}') IS NOT NULL THEN
    PERFORM ${qualify('gatehook_stay')}();
  END IF;`
