/** Secret fields and members at any depth. Pure. */
import type { MemberSpec, MemberSpecs } from './spec.ts'

/** Returns the names of secret values at any depth, which the request log replaces. */
export const secretNames = (specs: MemberSpecs): string[] =>
  Object.entries(specs).flatMap(([name, spec]) => (isWholeSecret(spec) ? [name] : nested(spec)))

const nested = ({ members, items }: MemberSpec): string[] => [
  ...(members ? secretNames(members) : []),
  ...(items ? nested(items) : []),
]

/** Whether a value is secret, or all items of a list are. */
const isWholeSecret = ({ isSecret, items }: MemberSpec): boolean =>
  isSecret === true || (items !== undefined && isWholeSecret(items))

/** Whether a value is secret, or one inside it. */
export const containsSecret = (spec: MemberSpec): boolean =>
  isWholeSecret(spec) || nested(spec).length > 0
