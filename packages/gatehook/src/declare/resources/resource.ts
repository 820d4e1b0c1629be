/**
 * `resource(name, {…}).action(…).before(…)`: the declaration of a resource and its types. Data is
 * in the object and functions are in the chain, so that types infer. The result is a
 * `ResourceDefinition`: data and functions without type parameters.
 */

import type { FieldError } from '../../kernel/failure.ts'
import { declareOr } from '../../protocol/fields/declaration-mistakes.ts'
import type {
  CreateOf,
  FieldSpec,
  Fields,
  Flat,
  ReadOnlyName,
  RowOf,
} from '../../protocol/fields/fields.ts'
import type { AnyRow, Change } from '../versions/change.ts'
import {
  type ActionDefinition,
  type ActionInput,
  type ActionInputOf,
  readActionInput,
} from './action.ts'
import {
  checkAction,
  checkChange,
  checkEditable,
  checkFieldName,
  checkFunction,
  checkSignIn,
  reportUnknown,
  specsOf,
  validAction,
} from './chain-check.ts'
import type { CollectionFeatures, CollectionOptions } from './collection-options.ts'
import type { ComputeValue } from './computed.ts'
import { declaredMembers } from './declared-members.ts'
import { readResource } from './declared-resource.ts'
import { STATE_FIELD } from './field-check.ts'
import type { ListDeclaration, ListField } from './list-options.ts'
import type { RetiredColumns, RetiredOptions } from './retired-columns.ts'
import { createFieldCheck, createNamedCheck } from './row-rules.ts'
import type { Rule, RuleDefinition, RuleOperation } from './rule.ts'
import { type SignInDefinition, type SignInOptions, toSignInDefinition } from './sign-in.ts'
import type { DeletedFields } from './soft-deletion.ts'

export { type ActionDefinition, type AnyRow, STATE_FIELD }

export interface ResourceDefinition extends CollectionFeatures, ListDeclaration, RetiredColumns {
  readonly name: string
  /** `tax_rate` for `tax_rates`. */
  readonly singular: string
  readonly fields: Readonly<Record<string, FieldSpec>>
  readonly access: Access
  readonly events: readonly string[]
  readonly actions: readonly ActionDefinition[]
  readonly changes: readonly Change[]
  readonly links: ((row: AnyRow) => Record<string, string>) | undefined
  readonly checks: readonly RowCheck[]
  readonly rules: readonly RuleDefinition[]
  /** The function of each computed field, in the order of the calls. */
  readonly computations: Readonly<Record<string, ComputeValue>>
  /** The fields whose values together occur once. */
  readonly unique: readonly (readonly string[])[]
  readonly sample: ((n: number) => AnyRow) | undefined
  /** The sign-in name, if the rows of this resource sign in (§6.3). */
  readonly signsIn: SignInDefinition | undefined
  /** The reference that leads to the owner (§6.7). */
  readonly ownedBy: string | undefined
  readonly editable: readonly EditableRule[]
}

/** Fields that clients can change only while the row is in one of these states. */
interface EditableRule {
  readonly fields: readonly string[]
  readonly from: readonly string[]
}

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

/** Returns the mistakes of a row. Pure. */
type RowCheck = ((row: AnyRow) => readonly FieldError[]) & { readonly checkName?: string }

export interface ResourceOptions<F extends Fields>
  extends CollectionOptions<NoInfer<TextName<F>>>,
    RetiredOptions {
  /**
   * The singular of the name, for schemas and operations in OpenAPI. Default: by the rules of
   * English, `company` for `companies`.
   */
  readonly singular?: string
  /** The fields by name; the first is `id: f.id()`. They define columns, JSON members and types. */
  readonly fields: F
  /**
   * The fields by which lists are filtered and sorted; each has an index (§7.7). A tuple in `sort`,
   * `['status', 'created_at']`, has one index for its fields in this order (§7.10). The index also
   * serves a filter by the first field with a sort by the rest. `prefix` and `contains` name texts
   * for the filters `name[prefix]=` and `name[contains]=`; the first has an index. A field listed
   * as `{ field, index: false }` has no index of its own, so that writes are cheaper. Its lists
   * examine at most 50,000 rows, and are otherwise 400 `query_too_expensive` (§7.10).
   */
  readonly list: {
    readonly filter: readonly ListField<keyof F & string>[]
    readonly prefix?: readonly NoInfer<TextName<F>>[]
    readonly contains?: readonly NoInfer<TextName<F>>[]
    readonly sort: readonly (
      | ListField<keyof F & string>
      | readonly [keyof F & string, keyof F & string, ...(keyof F & string)[]]
    )[]
  }
  /**
   * The scopes of `read`, `create`, `update` and `delete`; `false`: the operation does not exist.
   * `read: 'public'` serves anonymous callers; `persons: 'read' | 'write'` opens rows without an
   * owner to persons (§6.7, §6.10).
   */
  readonly access: Access
  /** `<one>.created`, `.updated`, `.deleted`. Actions declare their own events. */
  readonly events: readonly `${string}.${'created' | 'updated' | 'deleted' | 'restored'}`[]
  /**
   * Tuples of fields: rows of one customer and mode cannot have the same values in all of them (409
   * `conflict`). A row with `null` in one of them equals no other row.
   */
  readonly unique?: readonly (readonly [keyof F & string, ...(keyof F & string)[]])[]
}

type StateOf<F extends Fields> = F extends { readonly status: infer S }
  ? RowOf<{ s: Extract<S, Fields[string]> }>['s']
  : never

/** `Name`: the states. */
export interface EditableOptions<Name> {
  /** The states in which clients can change the fields. */
  readonly from: readonly Name[]
}

export interface ActionOptions<F extends Fields, I extends ActionInput, E extends string> {
  /** The required scope. */
  readonly scope: string
  /** The states in which it is possible. Default: all. */
  readonly from?: readonly StateOf<F>[]
  /** The resulting state. */
  readonly to?: StateOf<F>
  /** The type of the event that its transaction records. */
  readonly emits?: E
  /** The fields of its body; `fields({…}).before(…)` for older versions. Default: no body. */
  readonly input?: I
  /** Returns further changes: `({ row, input }) => ({ sum: row.sum + input.n })`. Pure. */
  readonly run?: (args: { row: RowOf<F>; input: ActionInputOf<I> }) => Partial<RowOf<F>> | undefined
}

export type Omitted<S, K> = { readonly [P in keyof S as P extends K ? never : P]: S[P] }
type Older<S, Had extends Fields, K> = {
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

/**
 * A resource under declaration. `S` is the shape of the oldest version declared so far: each
 * `.before()` applies to the result of the previous one, newest change first.
 */
export class Resource<F extends Fields, S = RowOf<F>> {
  readonly definition: ResourceDefinition
  declare readonly fields: F
  declare readonly shape: S

  constructor(definition: ResourceDefinition) {
    this.definition = definition
  }

  /**
   * Adds what a call declares, after its checks. A call with a mistake that is collected adds
   * `rest`, by default nothing.
   */
  #with<S2 = S>(
    declare: (definition: ResourceDefinition) => Partial<ResourceDefinition>,
    rest: () => Partial<ResourceDefinition> = () => ({}),
  ): Resource<F, S2> {
    const more = declareOr(rest, () => declare(this.definition))
    return new Resource<F, S2>({ ...this.definition, ...more })
  }

  /**
   * Adds `POST …/{id}/{name}`. `from`: the states in which it is possible, else 409
   * `invalid_state`; `to`: the resulting state; `emits`: the event of the same transaction.
   */
  action<I extends ActionInput = Record<never, never>, E extends string = never>(
    name: string,
    options: ActionOptions<F, I, E>,
  ): Resource<F, S> {
    reportUnknown(this.definition, `.action(${name})`, options, declaredMembers.action)
    return this.#with(
      (definition) => {
        checkAction(definition, name, options)
        const action: ActionDefinition = {
          name,
          scope: options.scope,
          from: options.from as readonly string[] | undefined,
          to: options.to as string | undefined,
          emits: options.emits,
          ...readActionInput(options.input),
          run: options.run as ActionDefinition['run'],
        }
        return { actions: [...definition.actions, action] }
      },
      () => ({
        actions: [...this.definition.actions, validAction(this.definition, name, options)],
      }),
    )
  }

  /** Adds a rule for the whole row, which returns a sentence per invalid field, or undefined. */
  check(rule: (row: RowOf<F>) => { [K in keyof F]?: string } | undefined): Resource<F, S>
  /**
   * With a name, the rule returns whether the row is valid: `.check('days_in_order', (row) =>
   * row.last >= row.first, 'last is before first')`. Its 422 has the name as code, and a pointer to
   * each field that the rule reads.
   */
  check(name: string, rule: (row: RowOf<F>) => boolean, sentence: string): Resource<F, S>
  check(
    first: string | ((row: RowOf<F>) => { [K in keyof F]?: string } | undefined),
    rule?: (row: RowOf<F>) => boolean,
    sentence?: string,
  ): Resource<F, S> {
    return this.#with((definition) => {
      const check =
        typeof first === 'string'
          ? createNamedCheck(definition, first, rule as (row: AnyRow) => boolean, sentence)
          : createFieldCheck(definition, first as Parameters<typeof createFieldCheck>[1])
      return { checks: [...definition.checks, check] }
    })
  }

  /**
   * Adds a rule of `create`, `update`, `delete` or an action, which runs in the transaction of each
   * such change, on every path, with the row locked. It throws a `Failure` to reject the change, or
   * returns values that complete it. The changes of a resource with rules are serializable.
   */
  rule<const O extends RuleOperation>(operation: O, rule: Rule<F, O>): Resource<F, S> {
    return this.#with((definition) => {
      checkFunction(definition, `.rule(${operation})`, rule)
      const entry: RuleDefinition = { operation, rule: rule as unknown as RuleDefinition['rule'] }
      return { rules: [...definition.rules, entry] }
    })
  }

  /**
   * Sets the function of an `f.computed(…)`: `.compute('total', (row) => row.price * row.count)`.
   * Pure. It reads the other fields, also those that an earlier call computes, without the id.
   */
  compute<K extends ReadOnlyName<F>>(
    name: K,
    compute: (row: Omit<RowOf<F>, 'id' | K>) => RowOf<F>[K],
  ): Resource<F, S> {
    return this.#with((definition) => {
      checkFieldName(definition, '.compute()', name)
      checkFunction(definition, `.compute(${name})`, compute)
      return { computations: { ...definition.computations, [name]: compute as ComputeValue } }
    })
  }

  /** Sets the links of a row by name, relative to the version: `/orders/7`. */
  links(links: (row: RowOf<F>) => { self: string } & Record<string, string>): Resource<F, S> {
    return this.#with((definition) => {
      checkFunction(definition, '.links()', links)
      return { links: links as ResourceDefinition['links'] }
    })
  }

  /** Sets the n-th sample row, for seeds and docs. The engine adds references. */
  sample(createRow: (n: number) => Partial<CreateOf<F>>): Resource<F, S> {
    return this.#with((definition) => {
      checkFunction(definition, '.sample()', createRow)
      return { sample: createRow as ResourceDefinition['sample'] }
    })
  }

  /**
   * Declares that each row is a person, who signs in by the field `username` (§6.3). A row owns
   * itself. `scopes` replaces the default scopes of a person (§6.7). By default a person reads its
   * row, and reads and writes its rows of resources with an owner. `signUp` lets strangers create
   * an account (§4.9).
   */
  signsIn(signIn: SignInOptions<F>): Resource<F, S> {
    reportUnknown(this.definition, '.signsIn()', signIn, declaredMembers.signsIn)
    return this.#with((definition) => {
      checkSignIn(definition, signIn)
      return { signsIn: toSignInDefinition(signIn) }
    })
  }

  /** The owner of a row is that of the row to which this field refers (§6.7). */
  ownedBy(field: keyof F & string): Resource<F, S> {
    return this.#with((definition) => {
      checkFieldName(definition, '.ownedBy()', field)
      return { ownedBy: field }
    })
  }

  /**
   * Clients can change these fields only while `status` is one of `from`; otherwise a PATCH of them
   * is 422 `read_only`. Actions and the team's code are not limited.
   */
  editable(
    fields: readonly (keyof F & string)[],
    options: EditableOptions<StateOf<F>>,
  ): Resource<F, S> {
    reportUnknown(this.definition, '.editable()', options, declaredMembers.editable)
    return this.#with((definition) => {
      checkEditable(definition, fields, options)
      const rule = { fields, from: options.from as readonly string[] }
      return { editable: [...definition.editable, rule] }
    })
  }

  /** Adds a breaking change of `version`. Older versions are served through it (§8.8). */
  before<Had extends Fields, K extends keyof S & string, const Down extends RowOf<Had>>(
    version: string,
    change: ChangeOptions<S, Had, K, Down>,
  ): Resource<F, Older<S, Had, K>> {
    reportUnknown(this.definition, `.before('${version}')`, change, declaredMembers.before)
    return this.#with<Older<S, Had, K>>((definition) => {
      checkChange(definition, version, change)
      const entry: Change = {
        version,
        why: change.why,
        had: specsOf(change.had),
        hadNot: change.hadNot,
        up: change.up as Change['up'],
        down: change.down as Change['down'],
        renamed: (change.renamed ?? {}) as Change['renamed'],
      }
      return { changes: [...definition.changes, entry] }
    })
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the type of any resource
export type AnyResource = Resource<any, any>

/**
 * Declares a resource. Throws `DeclarationError`.
 *
 * @param name the name of the collection, in the plural
 * @example
 * const notes = resource('notes', {
 *   fields: { id: f.id(), text: f.string() },
 *   list: { filter: [], sort: ['id'] },
 *   access: { read: 'notes:read', create: 'notes:write', update: false, delete: false },
 *   events: ['note.created'],
 * })
 */
export function resource<
  const F extends Fields,
  const D extends CollectionOptions<string>['softDelete'] = undefined,
>(
  name: string,
  options: ResourceOptions<F> & { readonly softDelete?: D },
): Resource<[D] extends [undefined | false] ? F : Flat<F & DeletedFields>> {
  return new Resource(readResource(name, options))
}
