/**
 * `.route(…)`: an endpoint of the team's own (§6.8). Its handler gets typed input and a small
 * door to rows, events and SQL; everything else is as for the engine's own paths.
 */
import type { Principal } from '../kernel/principal.ts'
import type { Reader, Tx } from '../storage/database.ts'
import type { CreateOf, FieldSpec, Fields, PatchOf, RowOf } from './fields.ts'
import type { AnyRow, Resource } from './resource.ts'

/** Reads of the caller's own rows. */
export interface ServiceReader {
  /** The row, or `not_found`. */
  get<F extends Fields>(resource: Resource<F, unknown>, id: number): Promise<RowOf<F>>
  /** The team's own SQL. Scope your statements by `principal.scope`. */
  readonly sql: Reader
}

/** Changes in one transaction: rows, their events, and the team's own. */
export interface ServiceTx extends ServiceReader {
  /** A new row, with its checks, references and event. */
  create<F extends Fields>(
    resource: Resource<F, unknown>,
    values: CreateOf<F> & Partial<RowOf<F>>,
  ): Promise<RowOf<F>>
  /** The row changed, or `not_found`. */
  update<F extends Fields>(
    resource: Resource<F, unknown>,
    id: number,
    patch: PatchOf<F> & Partial<RowOf<F>>,
  ): Promise<RowOf<F>>
  /** The row deleted; 409 `conflict` while others name it. */
  remove<F extends Fields>(resource: Resource<F, unknown>, id: number): Promise<void>
  /** Records an event the service declares (`externalEvents` or a resource's own types). */
  emit(type: string, object: Readonly<Record<string, unknown>>): Promise<void>
  /** The team's own SQL, in this transaction. Scope your statements by `principal.scope`. */
  readonly sql: Tx
}

type ParametersOf<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParametersOf<`/${Rest}`>
  : P extends `${string}:${infer Name}`
    ? Name
    : never

export interface RouteContext<Q extends Fields, I extends Fields, P extends string> {
  /** Who is calling. */
  readonly principal: Principal
  /** The version this call is served in. */
  readonly version: string
  /** The values of the path's `:names`, as sent. */
  readonly params: Readonly<Record<ParametersOf<P>, string>>
  /** A parameter that may be left out has a default, so each of them is there. */
  readonly query: RowOf<Q>
  /** The body, validated. */
  readonly input: RowOf<I>
  /** Reads of the caller's own rows: `read.get(orders, 7)`, and SQL. */
  readonly read: ServiceReader
  /**
   * The call's one transaction; the handler may run again (after a deadlock, or where another
   * call's transaction failed beside it), so nothing but the database belongs in it.
   */
  write<T>(change: (tx: ServiceTx) => Promise<T>): Promise<T>
}

export interface RouteResult {
  /** Default 200; 204 where there is no body. */
  readonly status?: number
  readonly body?: unknown
}

export interface RouteOptions<Q extends Fields, I extends Fields, P extends string> {
  /** The method it answers; others of the path are other routes, or 405. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Under `/api/{version}`: `/reports/daily`, `/reports/:id`. */
  readonly path: P
  /** The scope it asks for; keys and clients can be given it from then on. */
  readonly scope: string
  /** One sentence for the docs. */
  readonly summary: string
  /** Fields of its query. */
  readonly query?: Q
  /** Fields of its body. */
  readonly input?: I
  /** Gives status, body and headers of the answer; throws `Failure` to refuse. */
  readonly handle: (context: RouteContext<Q, I, P>) => Promise<RouteResult> | RouteResult
}

/** A route without its types. */
export interface RouteDefinition {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly scope: string
  readonly summary: string
  readonly query?: Readonly<Record<string, { spec: FieldSpec }>>
  readonly input?: Readonly<Record<string, { spec: FieldSpec }>>
  readonly handle: (context: AnyRow) => Promise<RouteResult> | RouteResult
}
