/**
 * Merge patches of fields that are objects (RFC 7396): a patch changes the members that it has.
 * A patch of a declared member with null sets null; null removes a key of metadata or JSON. Pure.
 */
import { memberKindOf } from './kinds/table.ts'
import { isPlainObject } from './reading.ts'
import type { MemberSpec, MemberSpecs } from './spec.ts'

/** Whether a patch of the field merges into its value. Other fields are replaced. */
export const isMerged = (spec: MemberSpec): boolean => memberKindOf(spec).patch !== undefined

/** Returns the spec of a patch: no member is required, and those inside have no default. */
function patchSpec(spec: MemberSpec): MemberSpec {
  const optional: MemberSpec = { ...spec, write: 'optional' }
  return memberKindOf(spec).patch?.(optional, patchSpec) ?? optional
}

export const patchSpecs = (specs: MemberSpecs): MemberSpecs =>
  Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, patchSpec(spec)]))

/** Returns the value after a patch of its field. The result may lack required members. */
export function mergeValue(spec: MemberSpec, value: unknown, patch: unknown): unknown {
  if (!isPlainObject(patch)) return patch
  const { members } = spec
  if (!members) return isMerged(spec) ? mergeJson(value, patch) : patch
  const base = isPlainObject(value) ? value : {}
  const changes = Object.entries(patch).map(([name, change]) => [
    name,
    mergeValue(members[name]!, base[name], change),
  ])
  return { ...base, ...Object.fromEntries(changes) }
}

/** @see RFC 7396 §2 */
function mergeJson(value: unknown, patch: unknown): unknown {
  if (!isPlainObject(patch)) return patch
  const merged = new Map(Object.entries(isPlainObject(value) ? value : {}))
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) merged.delete(name)
    else merged.set(name, mergeJson(merged.get(name), change))
  }
  return Object.fromEntries(merged)
}
