/**
 * Merge patches of fields that are objects (RFC 7396): a patch changes the members that it has.
 * A patch of a declared member with null sets null; null removes a key of metadata or JSON. Pure.
 */
import type { MemberSpec, MemberSpecs } from './spec.ts'

type PlainObject = Readonly<Record<string, unknown>>

export const isPlainObject = (value: unknown): value is PlainObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a patch of the field merges into its value. Other fields are replaced. */
export const isMerged = ({ kind }: MemberSpec): boolean =>
  kind === 'object' || kind === 'metadata' || kind === 'json'

/** Returns the spec of a patch: no member is required, and those inside have no default. */
function patchSpec(spec: MemberSpec): MemberSpec {
  const optional: MemberSpec = { ...spec, write: 'optional' }
  if (spec.kind === 'metadata') return { ...optional, items: { ...spec.items!, nullable: true } }
  if (!spec.members) return optional
  const members = Object.entries(spec.members).map(([name, { default: _default, ...member }]) => [
    name,
    patchSpec(member),
  ])
  return { ...optional, members: Object.fromEntries(members) }
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
