/**
 * Modes in parameters: `live`, `test`, and `none` for requests of unidentified callers, whose mode
 * in counts is ''.
 */

import { join, type Sql, sql } from '../../platform/storage/sql.ts'
import type { RejectValue } from '../../protocol/fields/spec.ts'

const MODES = ['live', 'test', 'none']

/** Validates a parameter like `live,none`. */
export const validateModes = (text: string, reject: RejectValue): string | undefined =>
  text.split(',').every((name) => MODES.includes(name))
    ? text
    : reject(`must be of ${MODES.join(', ')}`)

/** Returns the condition of a parameter like `live,none` on the column `mode` of counts. */
export function countModeCondition(parameter: string): Sql {
  const names = [...new Set(parameter.split(','))]
  const values = names.map((name) => sql`${name === 'none' ? '' : name}`)
  return sql`mode IN (${join(values)})`
}
