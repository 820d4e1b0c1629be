/** The access of own code to rows, events and SQL. Contains types only. */

import type { Reader, Tx } from '../../platform/storage/database.ts'
import type { CreateOf, Field, Fields, PatchOf, RowOf } from '../../protocol/fields/fields.ts'
import type { FieldWrite } from '../../protocol/fields/spec.ts'

/** A resource of the service. */
interface ResourceOf<F extends Fields> {
  readonly fields: F
  readonly definition: { readonly name: string }
}

/** The type of the ids of a resource: a number, or a text with `f.id('bk')`. */
type IdOf<F extends Fields> = F extends { readonly id: Field<infer V, FieldWrite> } ? V : never

/** A job of the service. */
interface JobOf<I extends Fields> {
  readonly name: string
  readonly fields: I
}

/** Reads rows within the caller's reach. */
export interface ServiceReader {
  /** Returns the row. Throws `not_found`. */
  get<F extends Fields>(resource: ResourceOf<F>, id: IdOf<F>): Promise<RowOf<F>>
  /** Runs the team's SQL. Statements must filter by `principal.scope`. */
  readonly sql: Reader
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
  /** Creates a row with its checks, references and event. */
  create<F extends Fields>(
    resource: ResourceOf<F>,
    values: CreateOf<F> & Partial<RowOf<F>>,
  ): Promise<RowOf<F>>
  /** Updates a row. Throws `not_found`. */
  update<F extends Fields>(
    resource: ResourceOf<F>,
    id: IdOf<F>,
    patch: PatchOf<F> & Partial<RowOf<F>>,
  ): Promise<RowOf<F>>
  /** Deletes a row. Throws 409 `conflict` while other rows refer to it. */
  remove<F extends Fields>(resource: ResourceOf<F>, id: IdOf<F>): Promise<void>
  /** Records an event of a declared type (`externalEvents` or an event of a resource). */
  emit(type: string, object: Readonly<Record<string, unknown>>): Promise<void>
  /**
   * Enqueues a job, which runs at least once if this transaction commits: now, or at `runAt`.
   * Returns its id.
   */
  enqueue<I extends Fields>(
    job: JobOf<I>,
    input: CreateOf<I>,
    options?: { readonly runAt?: Date | number },
  ): Promise<string>
  /** Runs the team's SQL in this transaction. Statements must filter by `principal.scope`. */
  readonly sql: Tx
}
