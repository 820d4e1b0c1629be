/**
 * Reads an object: its members, and those beside them that are accepted or explained. One pass;
 * pure.
 */
import { closestClause } from '../../kernel/closest.ts'
import { isPlainObject, type Mistake, mistypedAs, pointerPart, type ReadValue } from './reading.ts'
import type { MemberSpec, MemberSpecs } from './spec.ts'

/** Maximum number of errors: a response must not be many times the size of the body. */
export const ERRORS_MAX = 50

/** The members of an object, and those beside them that are accepted or explained. */
export interface ObjectRules {
  readonly members: MemberSpecs
  /** Members of responses that a client can send back (§8.8). */
  readonly ignored?: readonly string[]
  /** Whether further members are ignored; default: each is a mistake. */
  readonly isOpen?: boolean
  /** Names that a client can read and not write, with the rest of a sentence. */
  readonly readOnly?: ReadonlyMap<string, string>
}

/** Creates the reader of an object. `inside` returns the reader of a member. */
export function objectReader(
  { members, ignored = [], isOpen = false, readOnly }: ObjectRules,
  nullable: boolean,
  inside: (spec: MemberSpec) => ReadValue,
): ReadValue {
  const entries = Object.entries(members).map(([name, spec]) => ({
    name,
    path: `/${name}`,
    isRequired: spec.write === 'required',
    isInherited: name in Object.prototype,
    read: inside(spec),
  }))
  const names = new Set([...Object.keys(members), ...ignored])
  const mistyped = mistypedAs('an object', nullable)
  return (value, pointer, report) => {
    if (!isPlainObject(value)) return report(pointer, ...mistyped(value))
    // Before the missing members: a misspelt name is often the reason of one.
    let unknown = 0
    for (const name in value) {
      if (isOpen || names.has(name)) continue
      if (++unknown > ERRORS_MAX) break
      const reason = readOnly?.get(name)
      const words = () => `is not a field here${closestClause(name, Object.keys(members))}`
      const mistake: Mistake = reason ? ['read_only', reason] : ['unknown_field', words]
      report(`${pointer}/${pointerPart(name)}`, ...mistake)
    }
    const values: Record<string, unknown> = {}
    for (const { name, path, isRequired, isInherited } of entries) {
      // `constructor` of an object without such a member is not its own.
      const own = isInherited && !Object.hasOwn(value, name) ? undefined : value[name]
      if (own !== undefined) values[name] = own
      else if (isRequired) report(pointer + path, 'required', 'is required')
    }
    for (const { name, path, isInherited, read } of entries) {
      const own = isInherited && !Object.hasOwn(values, name) ? undefined : values[name]
      if (own !== undefined)
        values[name] = read(own, pointer === '' ? path : pointer + path, report)
    }
    return values
  }
}
