/**
 * The options of `.route(…)`: an endpoint of the team (§6.8). Its handler receives typed input, and
 * reads and writes rows, events and SQL. The engine's pipeline does the rest.
 */

import type { CreateOf, Fields, RowOf } from '../../protocol/fields/fields.ts'
import type {
  AnyBodyFields,
  BodyChange,
  BodyFields,
  MemberValues,
  OutputMembers,
  RowBody,
  ShownRow,
} from './body-fields.ts'
import type { AnyFailure, ListedFailure } from './listed-failures.ts'
import type { MediaDeclaration, MediumName } from './media.ts'
import type { OwnPrincipal } from './own-principal.ts'
import type { OwnContext } from './own-words.ts'
import type { AnyResource, AnyRow, Resource } from './resource.ts'
import type { RunStep, ServiceReader, ServiceTx } from './service-access.ts'

export type ParametersOf<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParametersOf<`/${Rest}`>
  : P extends `${string}:${infer Name}`
    ? Name
    : never

export type RouteOutput = AnyResource | OutputMembers | AnyBodyFields | MediaDeclaration

/** The fields of a query, with or without older forms. */
// biome-ignore lint/suspicious/noExplicitAny: fields of any older forms
export type RouteQuery = Fields | BodyFields<Fields, any>
export type RouteInput = RouteQuery | AnyResource | MediaDeclaration

/** The values of a query or an input in handlers. */
type InputOf<I> =
  I extends Resource<infer F, infer _, infer _W>
    ? CreateOf<F>
    : I extends BodyFields<infer M, infer _>
      ? MemberValues<M>
      : I extends MediaDeclaration
        ? Uint8Array
        : I extends Fields
          ? RowOf<I>
          : never

/** The body that a handler returns, from the declared output. */
type BodyOf<O> =
  O extends Resource<infer F, infer _, infer _W>
    ? RowBody<F>
    : O extends MediaDeclaration
      ? string | Uint8Array | AsyncIterable<string>
      : O extends BodyFields<infer M, infer _>
        ? MemberValues<M>
        : MemberValues<O>

export interface RouteContext<Q extends RouteQuery, I extends RouteInput, P extends string>
  extends OwnContext {
  /** The authenticated caller. */
  readonly principal: OwnPrincipal
  /** Epoch milliseconds by the clock of the engine; of a write the instant of its transaction. */
  readonly now: number
  /** The version that serves the request. */
  readonly version: string
  /** The values of the path's `:names`, as the client sent them. */
  readonly params: Readonly<Record<ParametersOf<P>, string>>
  /** The query parameters in the newest version. An omitted optional parameter has its default. */
  readonly query: InputOf<Q>
  /**
   * The body, validated in the caller's version and converted to the newest; its bytes if the input
   * has a media type.
   */
  readonly input: InputOf<I>
  /** The `Content-Type` of the request, as sent; undefined without one. */
  readonly contentType: string | undefined
  /** The media types of the output that the caller accepts, the preferred one first. */
  readonly accepted: readonly string[]
  /** Reads rows within the caller's reach, `read.get(orders, 7)`, and SQL. */
  readonly read: ServiceReader
  /**
   * `fetch` to allowed addresses, up to 25 s. Of a GET alone: a write is a transaction, and calls
   * other systems in steps.
   */
  readonly fetch: typeof fetch
  /** Returns a row as JSON has it, in the caller's version. */
  show(row: AnyRow): ShownRow
  /**
   * Runs changes in the transaction of the request, which is serializable: rows that the handler
   * has read do not change before the commit. A conflict runs the whole handler again, so it must
   * not have side effects outside the database.
   */
  write<T>(change: (tx: ServiceTx) => Promise<T>): Promise<T>
}

/**
 * The context of a route with `steps: true` (§15.6): its handler runs again after an interruption,
 * and stored results take the place of its steps.
 */
export interface StepContext<Q extends RouteQuery, I extends RouteInput, P extends string>
  extends Omit<RouteContext<Q, I, P>, 'read' | 'write' | 'now' | 'fetch'> {
  /** The beginning of the first attempt in epoch milliseconds, by the clock of the engine. */
  readonly now: number
  /** Runs code that may use the network, and stores its result. */
  readonly step: RunStep
  /** Reads within the caller's reach, and stores the result. */
  read<T>(name: string, code: (read: ServiceReader) => Promise<T> | T): Promise<T>
  /** Runs changes in one serializable transaction, and stores the result in it. */
  write<T>(name: string, change: (tx: ServiceTx) => Promise<T> | T): Promise<T>
}

/** The result of a handler. `O` is the declared output. */
export type RouteResult<O> = {
  /** One of the declared statuses. Default: the first. */
  readonly status?: number
  /** Values of declared headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** The media type of a body that is not JSON. */
  readonly media?: MediaOf<O>
} & (O extends RouteOutput ? { readonly body: BodyOf<O> } : { readonly body?: unknown }) &
  SelectedMedia<O>

/** The declared media types. */
export type MediaOf<O> = O extends {
  readonly media: infer M extends MediumName | readonly MediumName[]
}
  ? M extends readonly (infer T extends MediumName)[]
    ? T
    : M
  : never

/** Of several media types, the result has to name one. */
type SelectedMedia<O> = O extends { readonly media: readonly MediumName[] }
  ? { readonly media: MediaOf<O> }
  : unknown

// biome-ignore lint/suspicious/noConfusingVoidType: a handler without an output can return nothing
type HandlerResult<O> = RouteResult<O> | (O extends RouteOutput ? never : void)

export interface RouteOptions<
  Q extends RouteQuery,
  I extends RouteInput,
  P extends string,
  O extends RouteOutput | undefined,
  S extends boolean = false,
  M extends RouteDefinition['method'] = RouteDefinition['method'],
  X extends AnyFailure = AnyFailure,
> {
  /** The HTTP method. Other methods of the path are separate routes, or 405. */
  readonly method: M
  /** The path under `/api/{version}`: `/reports/daily`, `/reports/:id`. */
  readonly path: P
  /** The required scope. Keys and clients can be granted it. */
  readonly scope: string
  /** One sentence for the docs. */
  readonly summary: string
  /** The fields of the query. `fields({…}).before(…)` has those of older versions too. */
  readonly query?: Q
  /**
   * The fields of the body, or a resource: the body that creates one of its rows. Callers of older
   * versions send the shape of theirs: that of the resource, or of `fields({…}).before(…)`. With
   * `{ media: ['image/png'] }` the handler receives the bytes of such a body; others are 415.
   */
  readonly input?: I
  /** The largest body in bytes, up to 16 MiB. Default: 1 MiB. */
  readonly maxBodyBytes?: number
  /**
   * The body of the response: a resource for one of its rows, an object of fields, resources and
   * lists of them `[resource]`, or text or bytes: `{ media: 'text/csv' }`, or
   * `{ media: ['text/csv', 'application/pdf'] }`, of which the result names one as `media`. Rows
   * have the shape of the caller's version, and `fields({…}).before(…)` has that of its members.
   * Default: any JSON, which OpenAPI does not describe; no body if `status` is declared.
   */
  readonly output?: O
  /** The status of success, or several. Default: 200; 204 without an output. */
  readonly status?: number | readonly number[]
  /** The headers of the response, each with a sentence: `{'x-total': 'The number of rows.'}`. */
  readonly headers?: Readonly<Record<string, string>>
  /** The failures that the handler throws, for OpenAPI, docs and clients. */
  readonly failures?: readonly X[]
  /** `false`: agents do not reach it by the Model Context Protocol. Default: true. */
  readonly mcp?: boolean
  /**
   * Whether the handler consists of steps, which may call other systems: a POST or PATCH that needs
   * an `Idempotency-Key`, and that the engine finishes once a step has begun. Default: false.
   */
  readonly steps?: S
  /** Of a route with steps: the longest attempt in milliseconds, up to 60,000. Default: 25,000. */
  readonly timeoutMs?: number
  /** Returns the response, which the server validates. Throws a `Failure` to reject the request. */
  readonly handle: (
    context: S extends true ? StepContext<Q, I, P> : RouteContext<Q, I, P>,
  ) => Promise<HandlerResult<O>> | HandlerResult<O>
}

/** The result of a handler, without its type parameter. */
export interface AnyResult {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly media?: string
  readonly body?: unknown
}

/** The part of a route that an upstream answers. */
export interface ForwardDefinition {
  readonly to: string
  readonly upstreamPath: string
  /** The names of the path that are whole numbers. */
  readonly integers: readonly string[]
  readonly pass: readonly string[]
  readonly passesQuery: boolean
  /** Whether the body is a list of objects with the members of `output`. */
  readonly returnsList: boolean
  readonly errors: 'pass' | 'wrap'
  readonly stream: boolean
  readonly repeatable: boolean
  readonly responseHeaders: readonly string[]
}

/** A route without its type parameters. */
export interface RouteDefinition {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly scope: string
  readonly summary: string
  readonly query?: RouteQuery
  readonly input?: RouteInput
  readonly output?: RouteOutput
  readonly status?: number | readonly number[]
  readonly headers?: Readonly<Record<string, string>>
  readonly failures?: readonly ListedFailure[]
  readonly mcp?: boolean
  readonly maxBodyBytes?: number
  readonly steps?: boolean
  readonly timeoutMs?: number
  readonly handle: (context: AnyRow) => Promise<AnyResult> | AnyResult
  /** Of a route that an upstream answers (§17.5), in place of a handler. */
  readonly forward?: ForwardDefinition
  /** The changes of query, input and output between versions. */
  readonly changes: readonly BodyChange[]
}

/** Whether a route declares its response; any other returns any JSON. */
export const declaresResponse = ({ output, status }: RouteDefinition): boolean =>
  output !== undefined || status !== undefined

/** Returns the statuses of success, the default first. */
export function statusesOf({ status, output }: RouteDefinition): readonly number[] {
  if (status === undefined) return [output ? 200 : 204]
  return typeof status === 'number' ? [status] : status
}
