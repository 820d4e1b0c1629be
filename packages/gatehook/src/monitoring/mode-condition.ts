/** The modes of counts: `live`, `test`, and '' for requests of unidentified callers. */
import { join, type Sql, sql } from '../storage/sql.ts'

const MODES_MAX = 3

/** Returns the condition of a parameter like `live,none` on the column `mode` of counts. */
export function countModeCondition(parameter: string): Sql {
  const names = [...new Set(parameter.split(','))].slice(0, MODES_MAX)
  const values = names.map((name) => sql`${name === 'none' ? '' : name}`)
  return sql`mode IN (${join(values)})`
}
