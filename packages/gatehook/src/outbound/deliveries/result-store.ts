/** SQL of the results of attempts; `engine-store.ts` writes them in its transaction. */
import type { Statement, Value } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import type { DeliveryResult } from './ports.ts'

/** Results written by one statement; unused parameters name no row. */
const RESULTS_AT_ONCE = 20
/** So many are written one by one. */
const FEW_RESULTS = 3
const NO_RESULT = ['', 0, null, null, null, 0, '']
const TYPES = ['TEXT', 'BIGINT', 'BIGINT', 'BIGINT', 'TEXT', 'BIGINT', 'TEXT']

/** SQL: the attempts with another one; null: there was no attempt. */
const appended = (record: string) =>
  `COALESCE(COALESCE(attempts || ',', '') || ${record}, attempts)`

const updateResult = prepareStatement(`UPDATE gh_deliveries SET state = ?, attempt = ?,
    next_attempt_at = ?, failed = ?, attempts = ${appended('CAST(? AS TEXT)')}
  WHERE scope = ? AND id = ? AND state = 'pending'`)

const row = `(${TYPES.map((type) => `CAST(? AS ${type})`)})`
const updateAll = `UPDATE gh_deliveries SET state = result.column1, attempt = result.column2,
    next_attempt_at = result.column3, failed = result.column4,
    attempts = ${appended('result.column5')}
  FROM (VALUES ${Array.from({ length: RESULTS_AT_ONCE }, () => row)}) AS result
  WHERE scope = result.column6 AND id = result.column7 AND gh_deliveries.state = 'pending'`
/**
 * PostgreSQL plans the statement once, perhaps while the table is empty, and would then scan the
 * table for the join. Each of these keys is a seek, and they determine the partitions.
 */
const keys = Array.from({ length: RESULTS_AT_ONCE }, (_, index) => {
  const last = (index + 1) * TYPES.length
  return `scope = $${last - 1} AND id = $${last}`
})
const updateResults = prepareStatement(`${updateAll} AND (${keys.join(' OR ')})`, updateAll)

export function resultStatements(results: readonly DeliveryResult[]): Statement[] {
  const statements: Statement[] = []
  for (let from = 0; from < results.length; from += RESULTS_AT_ONCE) {
    const rows = results.slice(from, from + RESULTS_AT_ONCE).map(valuesOf)
    if (rows.length <= FEW_RESULTS) statements.push(...rows.map(updateResult))
    else {
      while (rows.length < RESULTS_AT_ONCE) rows.push(NO_RESULT)
      statements.push(updateResults(rows.flat()))
    }
  }
  return statements
}

const valuesOf = ({ scope, id, state, attempt, nextAt, record }: DeliveryResult): Value[] => {
  const failed = state === 'failed' || state === 'exhausted' ? 1 : null
  return [state, attempt, nextAt, failed, record || null, scope, id]
}
