/**
 * The options of `.route(…)`: an endpoint of the team (§6.8). Its handler receives typed input, and
 * reads and writes rows, events and SQL. The engine's pipeline does the rest.
 */
import type { Principal } from '../kernel/principal.ts'
import type { Reader, Tx } from '../storage/database.ts'
import type { CreateOf, FieldSpec, Fields, PatchOf, RowOf } from './fields.ts'
import type { AnyRow, Resource } from './resource.ts'
import type { FieldSpecs } from './schema.ts'

/** Reads rows within the caller's reach. */
export interface ServiceReader {
  /** Returns the row. Throws `not_found`. */
  get<F extends Fields>(resource: Resource<F, unknown>, id: number): Promise<RowOf<F>>
  /** Runs the team's SQL. Statements must filter by `principal.scope`. */
  readonly sql: Reader
}

/** Changes rows, their events and the team's tables in one transaction. */
export interface ServiceTx extends ServiceReader {
  /** Creates a row with its checks, references and event. */
  create<F extends Fields>(
    resource: Resource<F, unknown>,
    values: CreateOf<F> & Partial<RowOf<F>>,
  ): Promise<RowOf<F>>
  /** Updates a row. Throws `not_found`. */
  update<F extends Fields>(
    resource: Resource<F, unknown>,
    id: number,
    patch: PatchOf<F> & Partial<RowOf<F>>,
  ): Promise<RowOf<F>>
  /** Deletes a row. Throws 409 `conflict` while other rows refer to it. */
  remove<F extends Fields>(resource: Resource<F, unknown>, id: number): Promise<void>
  /** Records an event of a declared type (`externalEvents` or an event of a resource). */
  emit(type: string, object: Readonly<Record<string, unknown>>): Promise<void>
  /** Runs the team's SQL in this transaction. Statements must filter by `principal.scope`. */
  readonly sql: Tx
}

type ParametersOf<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParametersOf<`/${Rest}`>
  : P extends `${string}:${infer Name}`
    ? Name
    : never

export interface RouteContext<Q extends Fields, I extends Fields, P extends string> {
  /** The authenticated caller. */
  readonly principal: Principal
  /** The version that serves the request. */
  readonly version: string
  /** The values of the path's `:names`, as the client sent them. */
  readonly params: Readonly<Record<ParametersOf<P>, string>>
  /** The query parameters. An omitted optional parameter has its default. */
  readonly query: RowOf<Q>
  /** The body, validated. */
  readonly input: RowOf<I>
  /** Reads rows within the caller's reach, `read.get(orders, 7)`, and SQL. */
  readonly read: ServiceReader
  /**
   * Runs changes in the transaction of the request. The handler can run twice, for example after a
   * deadlock, so it must not have side effects outside the database.
   */
  write<T>(change: (tx: ServiceTx) => Promise<T>): Promise<T>
}

export interface RouteResult {
  /** Default: 200; 204 without a body. */
  readonly status?: number
  readonly body?: unknown
}

export interface RouteOptions<Q extends Fields, I extends Fields, P extends string> {
  /** The HTTP method. Other methods of the path are separate routes, or 405. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path under `/api/{version}`: `/reports/daily`, `/reports/:id`. */
  readonly path: P
  /** The required scope. Keys and clients can be granted it. */
  readonly scope: string
  /** One sentence for the docs. */
  readonly summary: string
  /** The fields of the query. */
  readonly query?: Q
  /** The fields of the body. */
  readonly input?: I
  /** Returns the status and body of the response. Throws a `Failure` to reject the request. */
  readonly handle: (context: RouteContext<Q, I, P>) => Promise<RouteResult> | RouteResult
}

/** A route without its type parameters. */
export interface RouteDefinition {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly scope: string
  readonly summary: string
  readonly query?: RouteFields
  readonly input?: RouteFields
  readonly handle: (context: AnyRow) => Promise<RouteResult> | RouteResult
}

type RouteFields = Readonly<Record<string, { spec: FieldSpec }>>

export const specsOfRoute = (fields: RouteFields = {}): FieldSpecs =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.spec]))
