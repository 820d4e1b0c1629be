/**
 * The owners of rows, from the declaration, and the rows that a principal reaches (§6.7). Pure; the
 * SQL is in `store.ts` and `protocol/lists/`.
 */
import { holdsScope, missingScope } from '../../identity/access/scopes.ts'
import type { Principal, Scope } from '../../kernel/principal.ts'
import type { OwnerPath } from '../../protocol/lists/collection.ts'
import type { RowScope } from '../../protocol/lists/page.ts'
import type { ResourceDefinition } from './resource.ts'

/** The rows that a caller reaches, and the principal that changes them. */
export interface RowReach extends RowScope {
  /** Undefined for the engine, and for an anonymous caller. */
  readonly principal?: Principal | undefined
  /** Returns the rows of another resource that these rows may refer to; undefined for none. */
  readonly refersTo?: (resource: string) => RowScope | undefined
}

/** Returns the reach of the engine's own work: every row of a scope. */
export const wholeScope = (scope: number): RowReach => ({ scope, owner: undefined })

export type RowOperation = 'read' | 'create' | 'change'

/** Returns the scope that extends a person's reach to all rows. */
export const allScope = (resource: string): string => `${resource}:all`

/** Returns the field marked `.owner()`. */
export const ownerField = (definition: ResourceDefinition): string | undefined =>
  Object.keys(definition.fields).find((name) => definition.fields[name]?.owner)

/** Returns the field that leads to the owner, directly or through another row. */
export const owningField = (definition: ResourceDefinition): string | undefined =>
  ownerField(definition) ?? definition.ownedBy

/** Returns the path from a row to its owner; undefined if rows have no owner. */
export function ownerPathOf(
  definition: ResourceDefinition,
  resources: readonly ResourceDefinition[],
): OwnerPath | undefined {
  if (definition.signsIn) return { column: 'id', through: [] }
  const column = owningField(definition)
  if (column === undefined) return undefined
  const target = resources.find(({ name }) => name === definition.fields[column]?.target)
  // `.owner()` refers to a person, and so does a reference to a row that signs in.
  if (!definition.ownedBy || !target || target.signsIn) return { column, through: [] }
  const next = ownerPathOf(target, resources)!
  return { column, through: [{ table: target.name, column: next.column }, ...next.through] }
}

/** Returns a sentence for the developer per mistake. */
export function findOwnershipMistakes(
  definition: ResourceDefinition,
  resources: readonly ResourceDefinition[],
): string[] {
  const { fields, ownedBy, signsIn, access } = definition
  const mistakes: string[] = []
  const ownerFields = Object.keys(fields).filter((name) => fields[name]!.owner)
  const paths = [...ownerFields, ...(ownedBy === undefined ? [] : [ownedBy])]
  if (paths.length > 1) mistakes.push(`${paths.join(' and ')}: a row has one owner`)
  if (signsIn && paths.length > 0) mistakes.push('a row that signs in belongs to itself')
  const people = resources.find((resource) => resource.signsIn)
  for (const name of ownerFields) {
    if (!people) {
      mistakes.push(`${name}: .owner() refers to a person, and no resource signs in: .signsIn(…)`)
    } else if (fields[name]!.target !== people.name) {
      mistakes.push(
        `${name}: .owner() refers to ${people.name}, whose rows sign in; see .ownedBy()`,
      )
    }
  }
  if (ownedBy !== undefined) mistakes.push(...ownerChainMistakes(definition, resources))
  const isOwned = paths.length > 0 || signsIn !== undefined
  if (isOwned && access && access.persons !== undefined) {
    mistakes.push('access.persons is for rows without an owner; persons reach their own rows')
  }
  if (isOwned && access && access.read === 'public') {
    mistakes.push("access.read: rows that belong to persons are not 'public'")
  }
  return mistakes
}

/** Follows `.ownedBy()` from row to row, to a row that refers to its person. */
function ownerChainMistakes(
  definition: ResourceDefinition,
  resources: readonly ResourceDefinition[],
): string[] {
  const visited = new Set<string>()
  for (let current = definition; ; ) {
    const field = current.ownedBy
    if (field === undefined) {
      if (current.signsIn || ownerField(current) !== undefined) return []
      return [`.ownedBy('${definition.ownedBy}'): rows of ${current.name} have no owner`]
    }
    const spec = current.fields[field]
    if (spec?.kind !== 'ref') return [`.ownedBy('${field}'): is not an f.ref(…) of ${current.name}`]
    visited.add(current.name)
    const next = resources.find(({ name }) => name === spec.target)
    if (!next) return []
    if (visited.has(next.name)) return [`.ownedBy('${field}'): leads back to ${next.name}`]
    current = next
  }
}

export interface ReachRule {
  /**
   * Returns the rows that a principal reaches; without one, those an anonymous caller reads. Throws
   * 403 `insufficient_scope` with `<collection>:all` if the operation is closed to the person.
   */
  reach(principal: Principal | undefined, operation: RowOperation): RowReach
  /** Returns whether a principal with the read scope reads every row of its customer and mode. */
  holdsAll(principal: Principal): boolean
}

/** @param publicScope the rows that an anonymous caller reads (§6.10) */
export function createReachRule(
  definition: ResourceDefinition,
  resources: readonly ResourceDefinition[],
  publicScope: Scope | undefined,
): ReachRule {
  const ruleByName = new Map(
    resources.map((resource) => [resource.name, personRule(resource, resources)]),
  )
  const ownerLimit = ruleByName.get(definition.name)!
  const refersTo = (principal: Principal) => (resource: string) => {
    const owner = ruleByName.get(resource)!(principal, 'read')
    return owner === 'closed' ? undefined : { scope: principal.scope, owner }
  }
  return {
    reach(principal, operation) {
      if (!principal) {
        if (publicScope === undefined) throw new Error(`${definition.name} has no public scope`)
        return wholeScope(publicScope)
      }
      const { scope } = principal
      if (principal.kind !== 'person') return { scope, owner: undefined, principal }
      const owner = ownerLimit(principal, operation)
      if (owner === 'closed') throw missingScope(allScope(definition.name))
      return { scope, owner, principal, refersTo: refersTo(principal) }
    },
    holdsAll: (principal) =>
      principal.kind !== 'person' || ownerLimit(principal, 'read') === undefined,
  }
}

/** Returns the owner of the rows that a person reaches; undefined for all rows. */
type PersonRule = (person: Principal, operation: RowOperation) => number | 'closed' | undefined

function personRule(
  definition: ResourceDefinition,
  resources: readonly ResourceDefinition[],
): PersonRule {
  const { access, signsIn, name } = definition
  // Own code uses the rows, for every caller (§15.1).
  if (!access) return () => undefined
  const isOwned = ownerPathOf(definition, resources) !== undefined
  const all = allScope(name)
  const isOpen: Readonly<Record<RowOperation, boolean>> = {
    read: access.persons !== undefined || access.read === 'public',
    create: access.persons === 'write',
    change: access.persons === 'write',
  }
  return (person, operation) => {
    if (holdsScope(person, all)) return undefined
    if (!isOwned) return isOpen[operation] ? undefined : 'closed'
    // A new row that signs in would be another person.
    return signsIn && operation === 'create' ? 'closed' : Number(person.subject)
  }
}
