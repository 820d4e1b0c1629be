/** The names of secret fields and members, which the request log replaces. Pure. */
import type { MemberSpec, MemberSpecs } from './spec.ts'

/** Returns the names of secret values at any depth. */
export const secretNames = (specs: MemberSpecs): string[] =>
  Object.entries(specs).flatMap(([name, spec]) => (spec.isSecret ? [name] : nestedNames(spec)))

const nestedNames = ({ members, items }: MemberSpec): string[] => [
  ...(members ? secretNames(members) : []),
  ...(items ? nestedNames(items) : []),
]
