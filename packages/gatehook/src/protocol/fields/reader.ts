/**
 * Validates JSON values against the specs of fields and members, converts them, and reports every
 * mistake with its pointer (§10.2). Pure.
 */
import type { FieldError } from '../../kernel/failure.ts'
import { memberKindOf } from './kinds/table.ts'
import { ERRORS_MAX, type ObjectRules, objectReader } from './object-reader.ts'
import type { ReadValue } from './reading.ts'
import type { MemberSpec } from './spec.ts'

/**
 * Reads an object and returns its valid members. `collect` receives each mistake, at most
 * `ERRORS_MAX`, with at most one for each pointer.
 */
export function createObjectReader(rules: ObjectRules) {
  const read = objectReader(rules, false, valueReader)
  return (value: unknown): { values: Record<string, unknown>; errors: readonly FieldError[] } => {
    const errors: FieldError[] = []
    const values = read(value, '', (pointer, code, message) => {
      if (errors.length < ERRORS_MAX) {
        errors.push({ pointer, code, message: typeof message === 'string' ? message : message() })
      }
      return undefined
    })
    return { values: values as Record<string, unknown>, errors }
  }
}

function valueReader({ isDeferred, ...declared }: MemberSpec): ReadValue {
  const { write, nullable } = declared
  const spec: MemberSpec = isDeferred ? { kind: 'text', write, nullable } : declared
  const read = memberKindOf(spec).reader(spec, valueReader)
  const refine = spec.refine as ((value: unknown, reject: unknown) => unknown) | undefined
  return (value, pointer, report) => {
    if (value === null && spec.nullable) return null
    const content = read(value, pointer, report)
    if (content === undefined || !refine) return content
    return refine(content, (message: string) => report(pointer, 'invalid_value', message))
  }
}
