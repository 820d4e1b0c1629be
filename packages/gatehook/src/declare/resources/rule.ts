/** The types of `.rule(…)`: own code in the transaction of a change. */

import type { Principal } from '../../kernel/principal.ts'
import type { Fields, RowOf } from '../../protocol/fields/fields.ts'
import type { AnyRow } from '../versions/change.ts'
import type { ServiceTx } from './service-access.ts'

/** The operation of a rule: a change of rows, or the name of an action. */
export type RuleOperation = 'create' | 'update' | 'delete' | (string & {})

interface RuleArguments<F extends Fields, O extends string> {
  /** Reads and changes every row of the customer and mode, in the transaction of the change. */
  readonly tx: ServiceTx
  /** Is `tx.lock`: `await lock(rooms, after.room_id)`. */
  readonly lock: ServiceTx['lock']
  /** The caller. */
  readonly principal: Principal
  /** The locked row before the change; undefined for `create`. */
  readonly before: O extends 'create' ? undefined : RowOf<F>
  /** The row after the change, without its id for `create`; undefined for `delete`. */
  readonly after: O extends 'delete'
    ? undefined
    : O extends 'create'
      ? Omit<RowOf<F>, 'id'>
      : RowOf<F>
}

// biome-ignore lint/suspicious/noConfusingVoidType: a rule that completes nothing returns nothing
type Completion<F extends Fields> = Partial<RowOf<F>> | undefined | void

/** Throws a `Failure` to reject the change, or returns values that complete it. */
export type Rule<F extends Fields, O extends string> = (
  args: RuleArguments<F, O>,
) => Promise<Completion<F>> | Completion<F>

/** A rule without its type parameters. */
export interface RuleDefinition {
  readonly operation: string
  readonly rule: (args: AnyRow) => unknown
}
