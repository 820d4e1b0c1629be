/** The types of `.rule(…)`: own code in the transaction of a change. */

import type { Fields, RowOf, WritableOf } from '../../protocol/fields/fields.ts'
import type { AnyRow } from '../versions/change.ts'
import type { AnyFailure, ListedFailure } from './listed-failures.ts'
import type { OwnPrincipal } from './own-principal.ts'
import type { OwnContext } from './own-words.ts'
import type { ServiceTx } from './service-access.ts'

/** The operation of a rule: a change of rows, or the name of an action. */
export type RuleOperation = 'create' | 'update' | 'delete' | (string & {})

/** A row before it is stored: the database generates ids that are numbers. */
type NewRowOf<F extends Fields> =
  RowOf<F> extends { readonly id: string } ? RowOf<F> : Omit<RowOf<F>, 'id'>

export interface RuleArguments<F extends Fields, O extends string> extends OwnContext {
  /** Reads and changes every row of the customer and mode, in the transaction of the change. */
  readonly tx: ServiceTx
  /** Is `tx.lock`: `await lock(rooms, after.room_id)`. */
  readonly lock: ServiceTx['lock']
  /** The instant of the transaction in epoch milliseconds. */
  readonly now: number
  /** The caller. */
  readonly principal: OwnPrincipal
  /** The locked row before the change; undefined for `create`. */
  readonly before: O extends 'create' ? undefined : RowOf<F>
  /**
   * The row after the change; undefined for `delete`. For `create` it has an id if the ids have a
   * prefix.
   */
  readonly after: O extends 'delete' ? undefined : O extends 'create' ? NewRowOf<F> : RowOf<F>
}

/** The values of a row that a rule completes: actions alone set the state. */
type Completed<F extends Fields, State> = Partial<Omit<WritableOf<F>, State & keyof RowOf<F>>>

// biome-ignore lint/suspicious/noConfusingVoidType: a rule that completes nothing returns nothing
type Completion<F extends Fields, State> = Completed<F, State> | undefined | void

/** Throws a `Failure` to reject the change, or returns values that complete it. */
export type Rule<F extends Fields, O extends string, State> = (
  args: RuleArguments<F, O>,
) => Promise<Completion<F, State>> | Completion<F, State>

export interface RuleOptions<X extends AnyFailure = AnyFailure> {
  /** The failures that the rule throws, for OpenAPI, docs and clients: `[exceeded, 'conflict']`. */
  readonly failures?: readonly X[]
}

/** A rule without its type parameters. */
export interface RuleDefinition {
  readonly operation: string
  readonly failures: readonly ListedFailure[]
  readonly rule: (args: AnyRow) => unknown
}
