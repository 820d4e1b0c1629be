/**
 * The forms of a value: JSON in bodies and events, the value in rows and handlers, the cell in
 * tables. Most kinds have one form for all three. Null is null in each. Pure.
 */
import { isDeepStrictEqual } from 'node:util'
import type { ValueForm } from './kind.ts'
import { memberKindOf } from './kinds/table.ts'
import type { MemberSpec } from './spec.ts'

const plain: ValueForm = {}

export const formOf = (spec: MemberSpec): ValueForm =>
  memberKindOf(spec).form?.(spec, formOf) ?? plain

/** Whether two values of rows are equal. */
export const isSameValue = (left: unknown, right: unknown): boolean =>
  Object.is(left, right) ||
  (typeof left === 'object' && left !== null && isDeepStrictEqual(left, right))

/** Returns the JSON of a row's value. */
export function toJson(spec: MemberSpec, value: unknown): unknown {
  const { json } = formOf(spec)
  return json && value !== null ? json.to(value) : value
}
