/**
 * The relations of a resource in a version: its references to rows that `expand` includes (§7.11),
 * also those inside values (§15.9). Pure.
 */
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import { ITEMS, innerReferencesOf } from './inner-references.ts'
import type { ResourceDefinition } from './resource.ts'

/** The levels of relations in one path: `room.hotel.city`. */
export const EXPAND_DEPTH_MAX = 3
/** The relations of one request, of all levels. */
export const EXPAND_RELATIONS_MAX = 10

export interface Relation {
  /**
   * The member that has the row, and its name in `expand`: `room` for the field `room_id`, or the
   * name of the field itself.
   */
  readonly name: string
  /** The field of the version whose value the row replaces, if both have one name. */
  readonly replaces: string | undefined
  /** The reference by its newest name. */
  readonly field: string
  /** The resource to which it refers. */
  readonly target: string
  readonly isNullable: boolean
}

/** A reference inside the value of a field, by the names of the version: `lines.product`. */
export interface InnerRelation extends Relation {
  /** The field of the version that has the value. */
  readonly replaces: string
  readonly steps: readonly string[]
  /** The member that has the row; undefined: the row replaces the id. */
  readonly member: string | undefined
}

export const isInner = (relation: Relation): relation is InnerRelation => 'steps' in relation

/** The fields of a resource in one version. */
export interface VersionFields {
  readonly specs: FieldSpecs
  readonly chain: { readonly renamed: Readonly<Record<string, string>> }
}

/** Returns those of fields, in their order. A conversion of another kind hides one. */
export function relationsOf(
  { fields }: Pick<ResourceDefinition, 'fields'>,
  { specs, chain }: VersionFields,
): Relation[] {
  return Object.entries(specs).flatMap(([name, spec]) => {
    const field = spec === fields[name] ? name : chain.renamed[name]
    const newest = field === undefined ? undefined : fields[field]
    if (field === undefined || spec.kind !== 'ref' || newest?.target !== spec.target) return []
    const short = name.replace(/_id$/, '')
    const isFree = !Object.hasOwn(specs, short)
    return {
      name: isFree ? short : name,
      replaces: isFree ? undefined : name,
      field,
      target: spec.target!,
      isNullable: spec.nullable,
    }
  })
}

/** Returns those inside values. A conversion that changes a reference hides all of its field. */
function innerRelationsOf(
  { fields }: Pick<ResourceDefinition, 'fields'>,
  { specs, chain }: VersionFields,
): InnerRelation[] {
  return innerReferencesOf(specs).flatMap(({ field: name, steps, path, spec }) => {
    const field = specs[name] === fields[name] ? name : chain.renamed[name]
    const newest = field === undefined ? undefined : fields[field]
    if (field === undefined || !newest || !haveSameReferences(specs[name]!, newest)) return []
    const last = steps.at(-1)!
    const short = last.replace(/_id$/, '')
    const siblings = membersAt(specs[name]!, steps.slice(0, -1))
    const isFree = last !== ITEMS && !Object.hasOwn(siblings, short)
    return {
      name: isFree ? `${path.slice(0, path.length - last.length)}${short}` : path,
      replaces: name,
      field,
      steps,
      member: isFree ? short : undefined,
      target: spec.target!,
      isNullable: spec.nullable,
    }
  })
}

const haveSameReferences = (older: FieldSpec, newest: FieldSpec): boolean => {
  const namesOf = (spec: FieldSpec) =>
    innerReferencesOf({ it: spec }).map(({ steps, spec: { target } }) => [...steps, target])
  return JSON.stringify(namesOf(older)) === JSON.stringify(namesOf(newest))
}

/** Returns the members of the object to which steps lead. */
function membersAt(spec: FieldSpec, steps: readonly string[]): FieldSpecs {
  const last = steps.reduce<FieldSpec>(
    ({ items, members = {} }, step) => (step === ITEMS ? items : members[step]) as FieldSpec,
    spec,
  )
  return (last.members ?? {}) as FieldSpecs
}

/** Returns all that `expand` names. */
export const expandableRelations = (
  definition: Pick<ResourceDefinition, 'fields'>,
  version: VersionFields,
): (Relation | InnerRelation)[] => [
  ...relationsOf(definition, version),
  ...innerRelationsOf(definition, version),
]

/** Returns whether lists and rows of the resource have the parameter `expand`. */
export const hasRelations = ({ fields }: Pick<ResourceDefinition, 'fields'>): boolean =>
  Object.values(fields).some(({ kind }) => kind === 'ref') || innerReferencesOf(fields).length > 0
