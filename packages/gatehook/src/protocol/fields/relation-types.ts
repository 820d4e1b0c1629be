/**
 * The types of the relations that `expand` names (§7.11), also inside values (§15.9).
 * Contains types only.
 */
import type { Fields, JsonValue, Marked, ObjectJson, RefJson, ShownJson } from './fields.ts'

/** The resource of a reference. */
type TargetOf<X> =
  X extends Marked<infer _, infer Y> ? TargetOf<Y> : X extends RefJson<infer T, infer _> ? T : never

/** The name of a relation: `room` for the field `room_id`, or that of the field itself. */
type RelationName<K extends string, F> = K extends `${infer S}_id` ? (S extends keyof F ? K : S) : K

/** The fields inside an object, or inside the objects of a list. */
type MembersIn<X> =
  X extends Marked<infer _, infer Y>
    ? MembersIn<Y>
    : X extends ObjectJson<infer M extends Fields>
      ? M
      : X extends readonly (infer I)[]
        ? MembersIn<I>
        : never

/** The resource of the references in a list. */
type ItemTargetOf<X> =
  X extends Marked<infer _, infer Y>
    ? ItemTargetOf<Y>
    : X extends readonly (infer I)[]
      ? TargetOf<I>
      : never

interface NamedRelation {
  readonly name: string
  readonly relation: object
}

/** The relation of a reference with the JSON `X`. */
interface RelationAt<N, X> {
  readonly name: N
  readonly relation: {
    readonly resource: TargetOf<X>
    readonly nullable: null extends ShownJson<X> ? true : false
  }
}

/** The relation of a list of references. */
interface ListRelation<N, X> {
  readonly name: N
  readonly relation: {
    readonly resource: ItemTargetOf<X>
    readonly nullable: false
    readonly many: true
  }
}

type RelationIn<N, X> = [TargetOf<X>] extends [never] ? never : RelationAt<N, X>

/** The relations of the members of an object: `lines.product` (§15.9). */
type MemberRelations<K extends string, M> = [M] extends [never]
  ? never
  : M extends Fields
    ? {
        [N in keyof M & string]: RelationIn<`${K}.${RelationName<N, M>}`, JsonValue<M[N]>>
      }[keyof M & string]
    : never

type RelationsAt<F extends Fields, K extends keyof F & string> =
  | RelationIn<RelationName<K, F>, JsonValue<F[K]>>
  | MemberRelations<K, MembersIn<JsonValue<F[K]>>>
  | ([ItemTargetOf<JsonValue<F[K]>>] extends [never] ? never : ListRelation<K, JsonValue<F[K]>>)

type AllRelations<F extends Fields> = {
  [K in keyof F & string]: RelationsAt<F, K>
}[keyof F & string]

/** The relations of rows by the name that `expand` has (§7.11). */
export type RelationsOf<F extends Fields> = {
  readonly [R in AllRelations<F> as R extends NamedRelation
    ? R['name']
    : never]: R extends NamedRelation ? R['relation'] : never
}
