/** The two forms of `.check(…)` as functions that return the mistakes of a row. Pure. */

import type { FieldError } from '../../kernel/failure.ts'
import type { CheckCode } from '../../kernel/mistakes.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import type { AnyRow } from '../versions/change.ts'
import { checkFunction, checkNamedCheck } from './chain-check.ts'

interface RuleTarget {
  readonly name: string
  readonly fields: Readonly<Record<string, FieldSpec>>
}

/** Creates the check that returns a sentence for each invalid field. */
export function createFieldCheck(
  target: RuleTarget,
  rule: (row: AnyRow) => Readonly<Record<string, string>> | undefined,
) {
  checkFunction(target, '.check()', rule)
  return (row: AnyRow): FieldError[] =>
    Object.entries(rule(row) ?? {}).map(([field, message]) => ({
      pointer: `/${field}`,
      code: 'invalid_value',
      message,
    }))
}

/** Creates the check that returns whether the row is valid. Its errors name the fields it reads. */
export function createNamedCheck(
  target: RuleTarget,
  name: string,
  rule: (row: AnyRow) => boolean,
  sentence: string | undefined,
) {
  checkNamedCheck(target, name, rule, sentence)
  const check = (row: AnyRow): FieldError[] => {
    if (rule(row) === true) return []
    const fields = new Set<string>()
    const observed = new Proxy(row, {
      get(values, field) {
        if (typeof field === 'string' && Object.hasOwn(target.fields, field)) fields.add(field)
        return Reflect.get(values, field)
      },
    })
    rule(observed)
    const pointers = fields.size > 0 ? [...fields].map((field) => `/${field}`) : ['']
    return pointers.map((pointer) => ({ pointer, code: name as CheckCode, message: sentence! }))
  }
  return Object.assign(check, { checkName: name })
}
