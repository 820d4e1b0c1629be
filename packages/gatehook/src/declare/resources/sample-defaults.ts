/** The defaults inside the values of `.sample()`, as bodies get them (§2.2). Pure. */
import { isPlainObject } from '../../protocol/fields/reading.ts'
import type { MemberSpec, MemberSpecs } from '../../protocol/fields/spec.ts'

/** Adds the defaults of omitted members inside the values of a row, and keeps other values. */
export const addInnerDefaults = <T extends object>(fields: MemberSpecs, row: T): T =>
  isPlainObject(row)
    ? (Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name, completeValue(fields[name], value)]),
      ) as T)
    : row

function completeValue(spec: MemberSpec | undefined, value: unknown): unknown {
  const { members, items } = spec ?? {}
  if (items && Array.isArray(value)) return value.map((item) => completeValue(items, item))
  if (!members || !isPlainObject(value)) return value
  const declared = Object.entries(members).map(([name, member]) => [
    name,
    completeValue(member, value[name] === undefined ? member.default : value[name]),
  ])
  const complete = Object.fromEntries(declared.filter(([, member]) => member !== undefined))
  // In the declared order. Validation reports undeclared members.
  return { ...complete, ...value, ...complete }
}
