/** SQL of the results of attempts; `engine-store.ts` writes them in its transaction. */
import type { Statement, Value } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { ATTEMPT_BYTES_MAX, ATTEMPTS_BYTES_MAX } from './delivery.ts'
import type { DeliveryResult } from './ports.ts'

/** So many are written one by one. */
const FEW_RESULTS = 3

/** Bytes of the newest attempts, with commas, beside the first and another one. */
const NEWEST_BYTES = ATTEMPTS_BYTES_MAX - 2 * ATTEMPT_BYTES_MAX - 2
/** SQL: the stored attempts by their places from 1. */
const ELEMENTS = `(SELECT CAST(value AS TEXT) AS value, place
  FROM json_array_elements(CAST('[' || attempts || ']' AS json))
    WITH ORDINALITY AS element(value, place))`
const SQLITE_ELEMENTS = `(SELECT value, key + 1 AS place FROM json_each('[' || attempts || ']'))`

/** SQL: the stored attempts; the first and the newest ones if the others leave no space. */
const retained = (elements: string) => `CASE
  WHEN octet_length(attempts) < ${ATTEMPTS_BYTES_MAX - ATTEMPT_BYTES_MAX} THEN attempts
  ELSE (SELECT string_agg(value, ',' ORDER BY place)
    FROM (SELECT value, place, SUM(octet_length(value) + 1) OVER (ORDER BY place DESC) AS bytes
      FROM ${elements} AS elements) AS newest
    WHERE place = 1 OR bytes <= ${NEWEST_BYTES}) END`

/** SQL: the attempts with another one; null: there was no attempt. */
const appended = (record: string, elements: string) =>
  `COALESCE(COALESCE(${retained(elements)} || ',', '') || ${record}, attempts)`

const updateOne = (elements: string) => `UPDATE gh_deliveries SET state = ?, attempt = ?,
    next_attempt_at = ?, failed = ?, attempts = ${appended('CAST(? AS TEXT)', elements)}
  WHERE scope = ? AND id = ? AND state = 'pending'`
const updateResult = prepareStatement(updateOne(ELEMENTS), updateOne(SQLITE_ELEMENTS))

const updateFrom = (
  results: string,
  elements: string,
) => `UPDATE gh_deliveries SET state = result.state,
    attempt = result.attempt, next_attempt_at = result.next_at, failed = result.failed,
    attempts = ${appended('result.record', elements)}
  FROM ${results} AS result
  WHERE gh_deliveries.scope = result.scope AND gh_deliveries.id = result.id
    AND gh_deliveries.state = 'pending'`
const COLUMNS = ['scope', 'id', 'state', 'attempt', 'next_at', 'failed', 'record']
const TYPES = ['BIGINT', 'TEXT', 'TEXT', 'BIGINT', 'BIGINT', 'BIGINT', 'TEXT']
/**
 * PostgreSQL plans the statement once, perhaps while the table is empty, and would then read the
 * whole table for the join. The array of ids is a seek of each, and determines the partitions.
 */
const updateResults = prepareStatement(
  `${updateFrom(
    `ROWS FROM (json_to_recordset(CAST($1 AS json))
      AS (${COLUMNS.map((column, at) => `${column} ${TYPES[at]}`)}))`,
    ELEMENTS,
  )}
    AND gh_deliveries.id = ANY (ARRAY(
      SELECT row ->> 'id' FROM json_array_elements(CAST($1 AS json)) AS row))`,
  updateFrom(
    `(SELECT ${COLUMNS.map((column) => `value ->> '${column}' AS ${column}`)} FROM json_each(?))`,
    SQLITE_ELEMENTS,
  ),
)

/** Returns one statement for all results, or one for each of a few. */
export const resultStatements = (results: readonly DeliveryResult[]): Statement[] =>
  results.length <= FEW_RESULTS
    ? results.map((result) => updateResult(valuesOf(result)))
    : [updateResults([JSON.stringify(results.map(rowOf))])]

const failedOf = ({ state }: DeliveryResult) =>
  state === 'failed' || state === 'exhausted' ? 1 : null

const valuesOf = (result: DeliveryResult): Value[] => {
  const { scope, id, state, attempt, nextAt, record } = result
  return [state, attempt, nextAt, failedOf(result), record || null, scope, id]
}

const rowOf = (result: DeliveryResult) => {
  const { scope, id, state, attempt, nextAt, record } = result
  return {
    ...{ scope, id, state, attempt, next_at: nextAt, failed: failedOf(result) },
    record: record || null,
  }
}
