/**
 * The options of `resource(…)` and of the words of its chain. Contains types only.
 */
import type { Fields, Flat, RowOf, WritableOf } from '../../protocol/fields/fields.ts'
import type { ActionInput, ActionInputOf } from './action.ts'
import type { CollectionOptions } from './collection-options.ts'
import type { ListField, ListOptions, RelatedPath } from './list-options.ts'
import type { AnyFailure } from './listed-failures.ts'
import type { OwnPrincipal } from './own-principal.ts'
import type { OwnContext } from './own-words.ts'
import type { RetiredOptions } from './retired-columns.ts'

/** The scopes of the four operations. `false`: the operation does not exist. */
export interface Access {
  /** A scope, or `public`: anonymous callers read live rows of the customer `default` (§6.10). */
  readonly read: string
  readonly create: string | false
  readonly update: string | false
  readonly delete: string | false
  /** Opens rows without an owner to persons with the scope. Default: closed (§6.7). */
  readonly persons?: 'read' | 'write'
}

/** The names of the fields whose values are texts. */
type TextName<F extends Fields> = {
  [K in keyof F & string]: RowOf<F>[K] extends string | null ? K : never
}[keyof F & string]

export type EventName = `${string}.${'created' | 'updated' | 'deleted' | 'restored'}`

/** The options of `resource(…)`. `access: false`: own code alone uses the rows (§15.1). */
export type OptionsOf<F extends Fields, A extends Access | false> = [A] extends [false]
  ? InternalOptions<F>
  : ResourceOptions<F>

export interface ResourceOptions<F extends Fields>
  extends CollectionOptions<NoInfer<TextName<F>>>,
    RowOptions<F> {
  /**
   * The scopes of `read`, `create`, `update` and `delete`; `false`: the operation does not exist.
   * `read: 'public'` serves anonymous callers; `persons: 'read' | 'write'` opens rows without an
   * owner to persons (§6.7, §6.10). Without an API, for own code alone: `access: false` (§15.1).
   */
  readonly access: Access
  /**
   * The fields by which lists are filtered and sorted; each has an index (§7.7). A tuple in `sort`,
   * `['status', 'created_at']`, has one index for its fields in this order (§7.10). The index also
   * serves a filter by the first field with a sort by the rest. `prefix` and `contains` name texts
   * for the filters `name[prefix]=` and `name[contains]=`; the first has an index. A field listed
   * as `{ field, index: false }` has no index of its own, so that writes are cheaper. Its lists
   * examine at most 50,000 rows, and are otherwise 400 `query_too_expensive` (§7.10).
   * `user.email` names a field of the row to which `user_id` refers, through at most three
   * references (§15.9); its index is one of the other table.
   */
  readonly list: ListNames<F>
  /** `<one>.created`, `.updated`, `.deleted`. Actions declare their own events. */
  readonly events: readonly EventName[]
}

/** The options of a resource without an API: no path, scope, event or document has it. */
interface InternalOptions<F extends Fields> extends RowOptions<F> {
  readonly access: false
  /** The filters and sorts of `list` in own code. */
  readonly list?: ListNames<F>
  readonly events?: readonly []
  readonly search?: undefined
  readonly softDelete?: undefined
}

interface ListNames<F extends Fields> {
  readonly filter: readonly ListField<(keyof F & string) | RelatedPath>[]
  readonly prefix?: readonly NoInfer<TextName<F>>[]
  readonly contains?: readonly NoInfer<TextName<F>>[]
  readonly sort: readonly (
    | ListField<(keyof F & string) | RelatedPath>
    | readonly [keyof F & string, keyof F & string, ...(keyof F & string)[]]
  )[]
}

export interface RowOptions<F extends Fields> extends RetiredOptions {
  /**
   * The singular of the name, for schemas and operations in OpenAPI. Default: by the rules of
   * English, `company` for `companies`.
   */
  readonly singular?: string
  /** The fields by name; the first is `id: f.id()`. They define columns, JSON members and types. */
  readonly fields: F
  /**
   * Tuples of fields: rows of one customer and mode cannot have the same values in all of them (409
   * `conflict`). A row with `null` in one of them equals no other row.
   */
  readonly unique?: readonly (readonly [keyof F & string, ...(keyof F & string)[]])[]
}

export type StateOf<F extends Fields> = F extends { readonly status: infer S }
  ? RowOf<{ s: Extract<S, Fields[string]> }>['s']
  : never

/** `Name`: the states. */
export interface EditableOptions<Name> {
  /** The states in which clients can change the fields. */
  readonly from: readonly Name[]
}

/** The words of a resource and its chain, for the types of own code and clients. */
export interface ResourceWords {
  readonly name: string
  readonly access: Pick<Access, 'create' | 'update' | 'delete'> | false
  readonly list: ListOptions
  /** Whether `?q=` finds words, and whether deleted rows are stored. */
  readonly search: boolean
  readonly softDelete: boolean
  /** The types of its events. */
  readonly events: string
  /** The fields of the body of each action. */
  readonly actions: object
  /** The actions without an endpoint. */
  readonly internal: string
  /** `status` if an action leads to a state. */
  readonly state: string
  /** The failures that its actions and rules list. */
  readonly failures: AnyFailure
}

/** Other words of a resource. */
export type WithWords<W extends ResourceWords, More extends Partial<ResourceWords>> = {
  readonly [K in keyof W]: K extends keyof More ? More[K] : W[K]
}

/** The words of a resource with one more action. */
export type WithAction<
  W extends ResourceWords,
  N extends string,
  I extends ActionInput,
  E extends string,
  T,
  C extends string | false,
  X extends AnyFailure,
> = WithWords<
  W,
  {
    readonly events: W['events'] | E
    readonly actions: Flat<W['actions'] & Readonly<Record<N, I>>>
    readonly internal: W['internal'] | (C extends false ? N : never)
    readonly state: [T] extends [never] ? W['state'] : 'status'
    readonly failures: W['failures'] | X
  }
>

export interface RunArguments<F extends Fields, I extends ActionInput> extends OwnContext {
  /** The locked row before the change. */
  readonly row: RowOf<F>
  /** The validated body. */
  readonly input: ActionInputOf<I>
  /** The instant of the transaction in epoch milliseconds. */
  readonly now: number
  /** The caller. */
  readonly principal: OwnPrincipal
}

export interface ActionOptions<
  F extends Fields,
  I extends ActionInput,
  E extends string,
  T extends StateOf<F> = StateOf<F>,
  State extends string = string,
  C extends string | false = string | false,
  X extends AnyFailure = AnyFailure,
> {
  /** The required scope. `false`: it has no endpoint, own code alone runs it (`tx.act`). */
  readonly scope: C
  /** The states in which it is possible. Default: all. */
  readonly from?: readonly StateOf<F>[]
  /** The resulting state. */
  readonly to?: T
  /** The type of the event that its transaction records. */
  readonly emits?: E
  /** The fields of its body; `fields({…}).before(…)` for older versions. Default: no body. */
  readonly input?: I
  /**
   * Returns further changes: `({ row, input, now }) => ({ sum: row.sum + input.n, paid_at: now })`.
   * `now` is the instant of the transaction. Pure.
   */
  readonly run?: (args: RunArguments<F, I>) => Partial<Omit<WritableOf<F>, State>> | undefined
  /** `false`: agents do not reach it by the Model Context Protocol. Default: as the resource. */
  readonly mcp?: boolean
  /** The failures that its rules throw, for OpenAPI, docs and clients: `[exceeded, 'conflict']`. */
  readonly failures?: readonly X[]
}

export type Omitted<S, K> = { readonly [P in keyof S as P extends K ? never : P]: S[P] }
export type Older<S, Had extends Fields, K> = {
  [P in keyof (Omitted<S, K> & RowOf<Had>)]: (Omitted<S, K> & RowOf<Had>)[P]
}

/**
 * A breaking change: the older shape, and the conversions up and down (§8.8).
 */
export interface ChangeOptions<
  S,
  Had extends Fields,
  K extends keyof S & string,
  Down extends RowOf<Had> = RowOf<Had>,
> {
  /** The reason, for the changelog and deprecation warnings. */
  readonly why: string
  /** The fields of the older version that `hadNot` replaces. */
  readonly had: Had
  /**
   * The fields of the newer version that the older one lacks, in the order of their sources.
   */
  readonly hadNot: readonly K[]
  /** Converts a row of the older shape to the fields in `hadNot`. */
  readonly up: (old: Older<S, Had, K>) => Pick<S, NoInfer<K>>
  /** Converts a row of the newer shape to the fields in `had`. */
  readonly down: (row: S) => Down
  /** The fields with a new name only: filters and sorts by the old name use the new column. */
  readonly renamed?: Readonly<Partial<Record<keyof Had & string, K>>>
}
