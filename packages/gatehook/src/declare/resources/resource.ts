/**
 * `resource(name, {…}).action(…).before(…)`: the declaration of a resource and its types. Data is
 * in the object and functions are in the chain, so that types infer. The result is a
 * `ResourceDefinition`: data and functions without type parameters.
 */

import type { FieldError } from '../../kernel/failure.ts'
import { declareOr } from '../../protocol/fields/declaration-mistakes.ts'
import type {
  FieldSpec,
  Fields,
  Flat,
  NewValuesOf,
  ReadOnlyName,
  RowOf,
} from '../../protocol/fields/fields.ts'
import type { AnyRow, Change } from '../versions/change.ts'
import { type ActionDefinition, type ActionInput, readActionInput } from './action.ts'
import {
  checkAction,
  checkChange,
  checkEditable,
  checkFieldName,
  checkFirst,
  checkFunction,
  checkRule,
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
import type { ListDeclaration, ListOptions } from './list-options.ts'
import { type AnyFailure, readFailures } from './listed-failures.ts'
import type {
  Access,
  ActionOptions,
  ChangeOptions,
  EditableOptions,
  EventName,
  Older,
  OptionsOf,
  ResourceWords,
  RowOptions,
  StateOf,
  WithAction,
  WithWords,
} from './resource-options.ts'
import type { RetiredColumns } from './retired-columns.ts'
import { createFieldCheck, createNamedCheck } from './row-rules.ts'
import type { Rule, RuleDefinition, RuleOperation, RuleOptions } from './rule.ts'
import { addInnerDefaults } from './sample-defaults.ts'
import { type SignInDefinition, type SignInOptions, toSignInDefinition } from './sign-in.ts'
import type { DeletedFields } from './soft-deletion.ts'

export { type ActionDefinition, type AnyRow, STATE_FIELD }

export interface ResourceDefinition extends CollectionFeatures, ListDeclaration, RetiredColumns {
  readonly name: string
  /** `tax_rate` for `tax_rates`. */
  readonly singular: string
  readonly fields: Readonly<Record<string, FieldSpec>>
  /** `false`: own code alone uses the rows (§15.1). */
  readonly access: Access | false
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

/** Returns the mistakes of a row. Pure. */
type RowCheck = ((row: AnyRow) => readonly FieldError[]) & { readonly checkName?: string }

/**
 * A resource under declaration. `S` is the shape of the oldest version declared so far: each
 * `.before()` applies to the result of the previous one, newest change first.
 */
export class Resource<F extends Fields, S = RowOf<F>, W extends ResourceWords = ResourceWords> {
  readonly definition: ResourceDefinition
  declare readonly fields: F
  declare readonly shape: S
  declare readonly words: W

  constructor(definition: ResourceDefinition) {
    this.definition = definition
  }

  /**
   * Adds what a call declares, after its checks. A call with a mistake that is collected adds
   * `rest`, by default nothing.
   */
  #with<S2 = S, W2 extends ResourceWords = W>(
    declare: (definition: ResourceDefinition) => Partial<ResourceDefinition>,
    rest: () => Partial<ResourceDefinition> = () => ({}),
  ): Resource<F, S2, W2> {
    const more = declareOr(rest, () => declare(this.definition))
    return new Resource<F, S2, W2>({ ...this.definition, ...more })
  }

  /**
   * Adds `POST …/{id}/{name}`. `from`: the states in which it is possible, else 409
   * `invalid_state`; `to`: the resulting state; `emits`: the event of the same transaction.
   */
  action<
    const N extends string,
    I extends ActionInput = Record<never, never>,
    E extends string = never,
    T extends StateOf<F> = never,
    const C extends string | false = string,
    const X extends AnyFailure = never,
  >(
    name: N,
    options: ActionOptions<F, I, E, T, [T] extends [never] ? W['state'] : 'status', C, X>,
  ): Resource<F, S, WithAction<W, N, I, E, T, C, X>> {
    reportUnknown(this.definition, `.action(${name})`, options, declaredMembers.action)
    return this.#with<S, WithAction<W, N, I, E, T, C, X>>(
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
          failures: readFailures(options.failures),
          mcp: options.mcp,
        }
        return { actions: [...definition.actions, action] }
      },
      () => ({
        actions: [...this.definition.actions, validAction(this.definition, name, options)],
      }),
    )
  }

  /** Adds a rule for the whole row, which returns a sentence per invalid field, or undefined. */
  check(rule: (row: RowOf<F>) => { [K in keyof F]?: string } | undefined): Resource<F, S, W>
  /**
   * With a name, the rule returns whether the row is valid: `.check('days_in_order', (row) =>
   * row.last >= row.first, 'last is before first')`. Its 422 has the name as code, and a pointer to
   * each field that the rule reads.
   */
  check(name: string, rule: (row: RowOf<F>) => boolean, sentence: string): Resource<F, S, W>
  check(
    first: string | ((row: RowOf<F>) => { [K in keyof F]?: string } | undefined),
    rule?: (row: RowOf<F>) => boolean,
    sentence?: string,
  ): Resource<F, S, W> {
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
  rule<const O extends RuleOperation, const X extends AnyFailure = never>(
    operation: O,
    rule: Rule<F, O, W['state']>,
    options?: RuleOptions<X>,
  ): Resource<F, S, WithWords<W, { readonly failures: W['failures'] | X }>> {
    const call = `.rule(${operation})`
    reportUnknown(this.definition, call, options, declaredMembers.rule)
    return this.#with<S, WithWords<W, { readonly failures: W['failures'] | X }>>((definition) => {
      checkRule(definition, call, rule, options)
      const entry: RuleDefinition = {
        operation,
        failures: readFailures(options?.failures),
        rule: rule as unknown as RuleDefinition['rule'],
      }
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
  ): Resource<F, S, W> {
    return this.#with((definition) => {
      checkFieldName(definition, '.compute()', name)
      checkFunction(definition, `.compute(${name})`, compute)
      checkFirst(definition, `.compute(${name})`, definition.computations[name])
      return { computations: { ...definition.computations, [name]: compute as ComputeValue } }
    })
  }

  /** Sets the links of a row by name, relative to the version: `/orders/7`. */
  links(links: (row: RowOf<F>) => { self: string } & Record<string, string>): Resource<F, S, W> {
    return this.#with((definition) => {
      checkFunction(definition, '.links()', links)
      checkFirst(definition, '.links()', definition.links)
      return { links: links as ResourceDefinition['links'] }
    })
  }

  /** Sets the n-th sample row, for seeds and docs. The engine adds references and defaults. */
  sample(createRow: (n: number) => Partial<NewValuesOf<F>>): Resource<F, S, W> {
    return this.#with((definition) => {
      checkFunction(definition, '.sample()', createRow)
      checkFirst(definition, '.sample()', definition.sample)
      return { sample: (n) => addInnerDefaults<AnyRow>(definition.fields, createRow(n)) }
    })
  }

  /**
   * Declares that each row is a person, who signs in by the field `username` (§6.3). A row owns
   * itself. `scopes` replaces the default scopes of a person (§6.7). By default a person reads its
   * row, and reads and writes its rows of resources with an owner. `signUp` lets strangers create
   * an account (§4.9).
   */
  signsIn(signIn: SignInOptions<F>): Resource<F, S, W> {
    reportUnknown(this.definition, '.signsIn()', signIn, declaredMembers.signsIn)
    return this.#with((definition) => {
      checkSignIn(definition, signIn)
      checkFirst(definition, '.signsIn()', definition.signsIn)
      return { signsIn: toSignInDefinition(signIn) }
    })
  }

  /** The owner of a row is that of the row to which this field refers (§6.7). */
  ownedBy(field: keyof F & string): Resource<F, S, W> {
    return this.#with((definition) => {
      checkFieldName(definition, '.ownedBy()', field)
      checkFirst(definition, '.ownedBy()', definition.ownedBy)
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
  ): Resource<F, S, W> {
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
  ): Resource<F, Older<S, Had, K>, W> {
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
export type AnyResource = Resource<any, any, any>

/** A resource without a chain. */
type DeclaredResource<
  F extends Fields,
  W extends Pick<ResourceWords, 'name' | 'access' | 'list' | 'search' | 'softDelete' | 'events'>,
> = Resource<
  F,
  RowOf<F>,
  W & {
    // biome-ignore lint/complexity/noBannedTypes: no action yet
    readonly actions: {}
    readonly internal: never
    readonly state: never
    readonly failures: never
  }
>

/** The `list` of a resource that declares none. */
interface NoLists {
  readonly filter: readonly []
  readonly sort: readonly []
}

/** Whether an option is declared. */
type Declares<T> = [T] extends [undefined | false | readonly []] ? false : true

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
  const N extends string,
  const F extends Fields,
  const A extends Access | false,
  const L extends ListOptions = NoLists,
  const D extends CollectionOptions<string>['softDelete'] = undefined,
  const Q extends CollectionOptions<string>['search'] = undefined,
  const E extends EventName = never,
>(
  name: N,
  options: RowOptions<F> & {
    readonly access: A
    readonly list?: L
    readonly softDelete?: D
    readonly search?: Q
    readonly events?: readonly E[]
  } & OptionsOf<F, A>,
): DeclaredResource<
  Declares<D> extends true ? Flat<F & DeletedFields> : F,
  {
    readonly name: N
    readonly access: A
    readonly list: L
    readonly search: Declares<Q>
    readonly softDelete: Declares<D>
    readonly events: E
  }
> {
  return new Resource(readResource(name, options))
}
