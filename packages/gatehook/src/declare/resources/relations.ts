/**
 * The relations of a resource in a version: its references to rows that `expand` includes (§7.11).
 * Pure.
 */
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
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

/** The fields of a resource in one version. */
export interface VersionFields {
  readonly specs: FieldSpecs
  readonly chain: { readonly renamed: Readonly<Record<string, string>> }
}

/** Returns the relations in the order of their fields. A conversion of another kind hides one. */
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

/** Returns whether lists and rows of the resource have the parameter `expand`. */
export const hasRelations = ({ fields }: Pick<ResourceDefinition, 'fields'>): boolean =>
  Object.values(fields).some(({ kind }) => kind === 'ref')
