/** The access of own code to rows, events and SQL. Contains types only. */

import type {
  CreateOf,
  Field,
  Fields,
  NewValuesOf,
  RowOf,
  WritableOf,
} from '../../protocol/fields/fields.ts'
import type { FieldWrite } from '../../protocol/fields/spec.ts'
import type { ListOperator, ValueOperator } from '../../protocol/lists/filter.ts'
import type { ActionCreateOf, ActionInput } from './action.ts'
import type { RelatedPath } from './list-options.ts'
import type { OwnPrincipal } from './own-principal.ts'
import type { OwnReader, OwnSqlTx } from './own-sql.ts'
import type { OwnContext } from './own-words.ts'
import type { ResourceWords } from './resource-options.ts'

/** A resource of the service. */
interface ResourceOf<F extends Fields, W = unknown> {
  readonly fields: F
  readonly words: W
  readonly definition: { readonly name: string }
}

/** The type of the ids of a resource: a number, or a text with `f.id('bk')`. */
type IdOf<F extends Fields> = F extends { readonly id: Field<infer V, FieldWrite, infer _> }
  ? V
  : never

/** A job of the service. */
interface JobOf<I extends Fields> {
  readonly name: string
  readonly fields: I
}

/** The last argument of `act`: none for an action without a body. */
type ActArguments<I> = I extends ActionInput
  ? Record<never, never> extends ActionCreateOf<I>
    ? [input?: ActionCreateOf<I>]
    : [input: ActionCreateOf<I>]
  : []

interface KeyOption {
  /** 1 to 255 characters, by which a repeat is recognized. */
  readonly key?: string
}

/** A condition of a filter: a value, `null`, or operators, `{ gte: 3, lt: 9 }`. */
type Condition<V> =
  | V
  | ({ readonly [O in ValueOperator]?: NonNullable<V> } & {
      readonly [O in ListOperator]?: readonly NonNullable<V>[]
    } & {
      readonly null?: boolean
      readonly prefix?: string
      readonly contains?: string
    })

type SortTerm<Name extends string> = Name | `-${Name}`
type SortOf<R> = SortTerm<(keyof R & string) | RelatedPath>

/** The options of `list`. */
interface OwnListOptions<R> {
  /** By fields of `list.filter`: `{ status: 'open', due_on: { lt: day }, id: { in: ids } }`. */
  readonly filter?:
    | ({ readonly [K in keyof R]?: Condition<R[K]> | undefined } & {
        readonly [path: RelatedPath]: Condition<string | number | boolean> | null | undefined
      })
    | undefined
  /** By fields of `list.sort`: `'-created_at'`, `['status', 'due_on']`. Default: the id. */
  readonly sort?: SortOf<R> | readonly SortOf<R>[] | undefined
  /** 1 to 100. Default: 20. */
  readonly limit?: number | undefined
  /** The last row of the page before. */
  readonly after?: R | undefined
}

/** Reads rows within the caller's reach. */
export interface ServiceReader {
  /** Returns the row. Throws `not_found`. */
  get<F extends Fields>(resource: ResourceOf<F>, id: IdOf<F>): Promise<RowOf<F>>
  /**
   * Returns the row with the values of a unique field or tuple: `find(people, { email })`;
   * undefined for none in reach.
   */
  find<F extends Fields>(
    resource: ResourceOf<F>,
    values: Partial<RowOf<F>>,
  ): Promise<RowOf<F> | undefined>
  /**
   * Returns at most `limit` rows by the declared filters and sorts. A page with very large rows has
   * fewer; one without rows is the end. Throws `query_too_expensive` as lists do, and
   * `invalid_parameter` for a value that its field cannot have.
   */
  list<F extends Fields>(
    resource: ResourceOf<F>,
    options?: OwnListOptions<RowOf<F>>,
  ): Promise<RowOf<F>[]>
  /** Runs statements of `sql` and `unscopedSql`. */
  readonly sql: OwnReader
}

/** Changes rows, their events and the team's tables in one transaction. */
export interface ServiceTx extends ServiceReader {
  /**
   * The instant of the transaction in epoch milliseconds, by the clock of the engine: that of
   * `created_at` and `updated_at`.
   */
  readonly now: number
  /**
   * Returns a row, which no other transaction changes or deletes until this one ends. Throws
   * `not_found`.
   */
  lock<F extends Fields>(resource: ResourceOf<F>, id: IdOf<F>): Promise<RowOf<F>>
  /**
   * Creates a row with its checks, references and event. The engine sets its id, times, computed
   * and derived fields.
   */
  create<F extends Fields>(
    resource: ResourceOf<F>,
    values: NewValuesOf<F> & Partial<Omit<WritableOf<F>, keyof NewValuesOf<F>>>,
  ): Promise<RowOf<F>>
  /**
   * Updates a row. Throws `not_found`. A field `status` to which an action leads changes by `act`
   * alone.
   */
  update<F extends Fields, W extends ResourceWords>(
    resource: ResourceOf<F, W>,
    id: IdOf<F>,
    patch: Partial<Omit<WritableOf<F>, W['state']>>,
  ): Promise<RowOf<F>>
  /**
   * Runs a declared action with its states, rules, checks and event, and returns the row. It
   * requires no scope. Throws `not_found` and `invalid_state`.
   */
  act<F extends Fields, W extends ResourceWords, N extends keyof W['actions'] & string>(
    resource: ResourceOf<F, W>,
    id: IdOf<F>,
    action: N,
    ...input: ActArguments<W['actions'][N]>
  ): Promise<RowOf<F>>
  /** Deletes a row. Throws 409 `conflict` while other rows refer to it. */
  remove<F extends Fields>(resource: ResourceOf<F>, id: IdOf<F>): Promise<void>
  /**
   * Records an event of `service({ events })`: of a row by its id, or with an object. The engine
   * renders it as its own events. With a `key`, a repeat within 24 h records nothing.
   */
  emit<F extends Fields>(
    event: { readonly row: F },
    id: IdOf<F>,
    options?: KeyOption,
  ): Promise<void>
  emit<M extends Fields>(
    event: { readonly members: M },
    object: CreateOf<M>,
    options?: KeyOption,
  ): Promise<void>
  /**
   * Enqueues a job, which runs at least once if this transaction commits: now, or at `runAt`.
   * Returns its id. With a `key`, a repeat within 24 h enqueues nothing, and returns the same id.
   */
  enqueue<I extends Fields>(
    job: JobOf<I>,
    input: CreateOf<I>,
    options?: KeyOption & { readonly runAt?: Date | number },
  ): Promise<string>
  /** Runs statements of `sql` and `unscopedSql` in this transaction. */
  readonly sql: OwnSqlTx
}

/** The argument of the code of a step. Its `signal` aborts, too, when a parallel step fails. */
export interface StepEffect extends OwnContext {
  /** The caller, or the customer and mode of the job. */
  readonly principal: OwnPrincipal
  /** That of the code that calls the step. */
  readonly now: number
  /**
   * Identifies the effect, the same at each attempt: the idempotency key of the upstream. No other
   * caller has it.
   */
  readonly key: string
  /** `fetch` to allowed addresses, which ends with `signal`. */
  readonly fetch: typeof fetch
}

/** @typeParam E without `principal` for a step of no customer */
export type RunStep<E = StepEffect> = <T>(
  name: string,
  code: (effect: E) => Promise<T> | T,
) => Promise<T>
