/**
 * Whose rows a caller reaches (§6.7): the owner of a row, from the declaration, and the reach of a
 * principal that follows from it. Pure; the statements are `store.ts` and `lists/`.
 */
import { holdsScope, missingScope } from '../access/scopes.ts'
import type { Principal, Scope } from '../kernel/principal.ts'
import type { OwnerPath } from '../lists/collection.ts'
import type { Reach } from '../lists/walk.ts'
import type { Definition } from './resource.ts'

/** The rows a caller reaches, and on whose authority it changes them. */
export interface RowReach extends Reach {
  /** Undefined for the engine's own work, and for an anonymous caller. */
  readonly principal?: Principal | undefined
  /** The rows of another resource that these rows may refer to; undefined: none of them. */
  readonly refersTo?: (resource: string) => Reach | undefined
}

/** Every row of a scope: for the engine's own work. */
export const wholeScope = (scope: number): RowReach => ({ scope, owner: undefined })

export type Operation = 'read' | 'create' | 'change'

/** The scope that lifts the limit to one's own rows. */
export const allScope = (resource: string): string => `${resource}:all`

/** The field marked `.owner()`. */
export const ownerField = (definition: Definition): string | undefined =>
  Object.keys(definition.fields).find((name) => definition.fields[name]?.owner)

/** The field through which a row belongs to a person, its own or that of another row. */
export const owningField = (definition: Definition): string | undefined =>
  ownerField(definition) ?? definition.ownedBy

/** How a row names the person it belongs to; undefined where rows belong to no person. */
export function ownerPathOf(
  definition: Definition,
  resources: readonly Definition[],
): OwnerPath | undefined {
  if (definition.signsIn) return { column: 'id', through: [] }
  const column = owningField(definition)
  if (column === undefined) return undefined
  const target = resources.find((one) => one.name === definition.fields[column]?.target)
  // `.owner()` names the person itself, and so does a reference to a row that signs in.
  if (!definition.ownedBy || !target || target.signsIn) return { column, through: [] }
  const next = ownerPathOf(target, resources)!
  const step = { table: target.name, column: next.column }
  return { column, through: [step, ...next.through] }
}

/** Sentences for the developer; empty where ownership holds together. */
export function ownershipMistakes(one: Definition, resources: readonly Definition[]): string[] {
  const wrong: string[] = []
  const named = Object.keys(one.fields).filter((name) => one.fields[name]!.owner)
  const ways = [...named, ...(one.ownedBy === undefined ? [] : [one.ownedBy])]
  if (ways.length > 1) wrong.push(`${ways.join(' and ')}: a row has one owner`)
  if (one.signsIn && ways.length > 0) wrong.push('a row that signs in belongs to itself')
  const people = resources.find((other) => other.signsIn)
  for (const name of named) {
    const { target } = one.fields[name]!
    if (people && target !== people.name) {
      wrong.push(`${name}: .owner() refers to ${people.name}, whose rows sign in; see .ownedBy()`)
    }
  }
  if (one.ownedBy !== undefined) wrong.push(...chainMistakes(one, resources))
  const owned = ways.length > 0 || one.signsIn !== undefined
  if (owned && one.access.persons !== undefined) {
    wrong.push('access.persons is for rows without an owner; persons reach their own rows')
  }
  if (owned && one.access.read === 'public') {
    wrong.push("access.read: rows that belong to persons are not 'public'")
  }
  return wrong
}

/** Follows `.ownedBy()` from row to row, up to a row that names its person. */
function chainMistakes(one: Definition, resources: readonly Definition[]): string[] {
  const passed = new Set<string>()
  for (let at = one; ; ) {
    const field = at.ownedBy
    if (field === undefined) {
      if (at.signsIn || ownerField(at) !== undefined) return []
      return [`.ownedBy('${one.ownedBy}'): rows of ${at.name} have no owner`]
    }
    const spec = at.fields[field]
    if (spec?.kind !== 'ref') return [`.ownedBy('${field}'): is no f.ref(…) of ${at.name}`]
    passed.add(at.name)
    const next = resources.find((other) => other.name === spec.target)
    if (!next) return []
    if (passed.has(next.name)) return [`.ownedBy('${field}'): leads back to ${next.name}`]
    at = next
  }
}

export interface ReachRule {
  /**
   * The rows a principal reaches for an operation; without one, those an anonymous caller reads.
   * Throws 403 `insufficient_scope` that names `<collection>:all` where the resource, or the making
   * of a row, is closed to a person.
   */
  reach(principal: Principal | undefined, operation: Operation): RowReach
  /** Whether a principal reads every row of its customer and mode, if it holds the read scope. */
  holdsAll(principal: Principal): boolean
}

/** `publicScope`: whose rows an anonymous caller reads (§6.10). */
export function reachRule(
  definition: Definition,
  resources: readonly Definition[],
  publicScope: Scope | undefined,
): ReachRule {
  const rules = new Map(resources.map((one) => [one.name, personRule(one, resources)]))
  const own = rules.get(definition.name)!
  const refersTo = (principal: Principal) => (resource: string) => {
    const limit = rules.get(resource)!(principal, 'read')
    return limit === 'closed' ? undefined : { scope: principal.scope, owner: limit }
  }
  return {
    reach(principal, operation) {
      if (!principal) {
        if (publicScope === undefined) throw new Error(`${definition.name} has no public scope`)
        return wholeScope(publicScope)
      }
      const { scope } = principal
      if (principal.kind !== 'person') return { scope, owner: undefined, principal }
      const owner = own(principal, operation)
      if (owner === 'closed') throw missingScope(allScope(definition.name))
      return { scope, owner, principal, refersTo: refersTo(principal) }
    },
    holdsAll: (principal) => principal.kind !== 'person' || own(principal, 'read') === undefined,
  }
}

/** The owner whose rows a person is limited to; undefined: no limit. */
type PersonRule = (person: Principal, operation: Operation) => number | 'closed' | undefined

function personRule(definition: Definition, resources: readonly Definition[]): PersonRule {
  const { access, signsIn, name } = definition
  const owned = ownerPathOf(definition, resources) !== undefined
  const all = allScope(name)
  const open: Readonly<Record<Operation, boolean>> = {
    read: access.persons !== undefined || access.read === 'public',
    create: access.persons === 'write',
    change: access.persons === 'write',
  }
  return (person, operation) => {
    if (holdsScope(person, all)) return undefined
    if (!owned) return open[operation] ? undefined : 'closed'
    // A new row that signs in would belong to another person.
    return signsIn && operation === 'create' ? 'closed' : Number(person.subject)
  }
}
