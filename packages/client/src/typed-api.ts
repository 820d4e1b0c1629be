/**
 * The types of an API, `typeof api` of its declaration or those that `gatehook client types`
 * writes, and the methods that follow from them. Contains types only.
 */
import type { Collection, Id, List } from './collection.ts'
import type { Credential } from './credentials.ts'
import type { EngineCode, EngineEventType } from './engine-names.ts'
import type { GatehookError } from './error.ts'
import type { ListParams } from './pages.ts'
import type { ApiResponse, CallOptions, TransportOptions } from './transport.ts'

/** The types of an API, in its newest version or another. */
export interface ApiTypes {
  readonly version: string
  /** By collection: a `ResourceTypes` each. */
  readonly resources: object
  /** By method and path, `POST /invoices/:id/payments`: a `RouteTypes` each. */
  readonly routes: object
  /** By type: the object of the event. */
  readonly events: object
  /** By code: the details of the failure. */
  readonly failures: object
}

interface ResourceTypes {
  readonly row: object
  /** `never`: the operation does not exist. */
  readonly create: unknown
  readonly update: unknown
  readonly deletes: boolean
  /** The value of each field that filters. */
  readonly filters: object
  /** The names of the texts for `prefix` and `contains`. */
  readonly prefixes: string
  readonly parts: string
  readonly sorts: string
  /** Whether `q` searches, and `deleted` lists deleted rows. */
  readonly searches: boolean
  readonly restores: boolean
  /** By name: the collection to which the relation leads. */
  readonly relations: object
  /** By name: the body of the action. */
  readonly actions: object
}

interface RouteTypes {
  /** The names in the path. */
  readonly params: string
  readonly query: object
  readonly input: object
  readonly output: unknown
}

/** `typeof api` of a declaration, or the types of a file. */
export type ApiSource = ApiTypes | { readonly types: ApiTypes }

export type TypesOf<S> = S extends { readonly types: infer T extends ApiTypes }
  ? T
  : S extends ApiTypes
    ? S
    : never

export type TypedClientOptions<S> = TransportOptions &
  Credential & { readonly version: TypesOf<S>['version'] }

type Flat<T> = { [K in keyof T]: T[K] } & {}
type Nothing = Record<never, never>

// Lists

type ResourceOf<T extends ApiTypes, N> = N extends keyof T['resources']
  ? T['resources'][N] extends infer R extends ResourceTypes
    ? R
    : never
  : never

/** The operators of a filter, which compare with a value. */
type Operators<V> = {
  readonly [O in 'ne' | 'gt' | 'gte' | 'lt' | 'lte']?: NonNullable<V>
} & { readonly in?: readonly NonNullable<V>[] } & (null extends V
    ? { readonly null?: boolean }
    : Nothing)

type Condition<R extends ResourceTypes, K> =
  | (K extends keyof R['filters'] ? NonNullable<R['filters'][K]> : never)
  | Flat<
      (K extends keyof R['filters']
        ? [NonNullable<R['filters'][K]>] extends [object]
          ? Nothing
          : Operators<R['filters'][K]>
        : Nothing) &
        (K extends R['prefixes'] ? { readonly prefix?: string } : Nothing) &
        (K extends R['parts'] ? { readonly contains?: string } : Nothing)
    >

type SortTerm<Name extends string> = Name | `-${Name}`

/** The parameters of a page. They select its style. */
interface PageParams {
  readonly limit?: number
  readonly cursor?: string
  readonly offset?: number
  readonly after_id?: Id
  readonly page?: number
  readonly per_page?: number
  readonly pagination?: 'cursor' | 'offset' | 'keyset' | 'page' | 'hypermedia'
}

/** The parameters of a list: those of pages, filters, sorts and searches. */
type ListQuery<R extends ResourceTypes> = PageParams & {
  readonly [K in (keyof R['filters'] & string) | R['prefixes'] | R['parts']]?:
    | Condition<R, K>
    | undefined
} & {
  readonly sort?: SortTerm<R['sorts']> | readonly SortTerm<R['sorts']>[]
} & (R['searches'] extends true ? { readonly q?: string } : Nothing) &
  (R['restores'] extends true ? { readonly deleted?: boolean } : Nothing)

// Expansions

type Relation<R extends ResourceTypes, K> = K extends keyof R['relations']
  ? R['relations'][K] extends infer X extends { readonly resource: string; nullable: boolean }
    ? X
    : never
  : never

/** The paths of `expand`, of at most three levels. */
type ExpandPath<T extends ApiTypes, R extends ResourceTypes, Levels extends readonly 1[]> = {
  [K in keyof R['relations'] & string]:
    | K
    | (Levels extends readonly [1, ...infer Rest extends readonly 1[]]
        ? `${K}.${ExpandPath<T, ResourceOf<T, Relation<R, K>['resource']>, Rest>}`
        : never)
}[keyof R['relations'] & string]

/** The relations of a resource that paths name first. */
type FirstOf<R extends ResourceTypes, P> = {
  [K in keyof R['relations'] & string]: [Extract<P, K | `${K}.${string}`>] extends [never]
    ? never
    : K
}[keyof R['relations'] & string]
type RestOf<P, K extends string> = P extends `${K}.${infer Rest}` ? Rest : never

type Related<T extends ApiTypes, R extends ResourceTypes, K extends string, P> =
  Relation<R, K> extends { readonly many: true }
    ? readonly RelatedRow<T, R, K, P>[]
    : RelatedRow<T, R, K, P>

type RelatedRow<T extends ApiTypes, R extends ResourceTypes, K extends string, P> =
  | Expanded<T, ResourceOf<T, Relation<R, K>['resource']>, RestOf<P, K>>
  | (Relation<R, K>['nullable'] extends true ? null : never)

/** A row with the rows to which it refers. */
type Expanded<T extends ApiTypes, R extends ResourceTypes, P> = [FirstOf<R, P>] extends [never]
  ? R['row']
  : WithRelated<T, R, P, FirstOf<R, P>>

/** A relation inside an object or a list has the name of that field first: `lines.product`. */
type FieldOf<K> = K extends `${infer F}.${string}` ? F : never
type MemberOf<K, F extends string> = K extends `${F}.${infer M}` ? M : never

type WithRelated<T extends ApiTypes, R extends ResourceTypes, P, K extends string> = Flat<
  Omit<R['row'], K | FieldOf<K>> & {
    readonly [N in K as N extends `${string}.${string}` ? never : N]: Related<T, R, N, P>
  } & {
    readonly [F in FieldOf<K> & keyof R['row']]: Inside<
      R['row'][F],
      { readonly [M in MemberOf<K, F>]: Related<T, R, `${F}.${M}`, P> }
    >
  }
>

/** An object with more members, or a list of such objects. */
type Inside<V, More> = V extends readonly (infer I)[]
  ? readonly Inside<I, More>[]
  : V extends object
    ? Flat<Omit<V, keyof More> & More>
    : V

/** The option of a read of one row. */
interface ExpandOption<P> {
  /** The rows to include to which the row refers: `['customer', 'lines.product']`. */
  readonly expand?: P | readonly P[]
}

// Collections

type PathOf<T extends ApiTypes, R extends ResourceTypes> = ExpandPath<T, R, [1, 1]>
type IdOf<R extends ResourceTypes> = R['row'] extends { readonly id: infer I } ? I : Id

interface Reads<T extends ApiTypes, R extends ResourceTypes> {
  /** Lists rows with these members only. */
  list<const N extends keyof R['row'] & string>(
    params: ListQuery<R> & { readonly fields: readonly N[]; readonly expand?: undefined },
    options?: CallOptions,
  ): List<Pick<R['row'], N>>
  /** Lists rows by declared filters and sorts, with the relations that `expand` names. */
  list<const P extends PathOf<T, R> = never>(
    params?: ListQuery<R> & ExpandOption<P> & { readonly fields?: undefined },
    options?: CallOptions,
  ): List<Expanded<T, R, P>>
  get<const P extends PathOf<T, R> = never>(
    id: IdOf<R>,
    options?: CallOptions & ExpandOption<P>,
  ): Promise<Expanded<T, R, P>>
}

interface Creates<R extends ResourceTypes> {
  create(body: R['create'], options?: CallOptions): Promise<R['row']>
}

interface Updates<R extends ResourceTypes> {
  /** Sends a merge patch (RFC 7396): omitted members do not change, `null` clears. */
  update(id: IdOf<R>, patch: R['update'], options?: CallOptions): Promise<R['row']>
}

interface Deletes<R extends ResourceTypes> {
  delete(id: IdOf<R>, options?: CallOptions): Promise<void>
}

/** The last arguments of `act`. */
type ActArguments<B> = [keyof B] extends [never]
  ? [body?: undefined, options?: CallOptions]
  : Nothing extends B
    ? [body?: B, options?: CallOptions]
    : [body: B, options?: CallOptions]

interface Acts<R extends ResourceTypes> {
  /** Performs an action: `invoices.act(id, 'finalize')`. */
  act<N extends keyof R['actions'] & string>(
    id: IdOf<R>,
    action: N,
    ...args: ActArguments<R['actions'][N]>
  ): Promise<R['row']>
}

/** A collection with the operations that its resource declares. */
type TypedCollection<T extends ApiTypes, R extends ResourceTypes> = Reads<T, R> &
  ([R['create']] extends [never] ? Nothing : Creates<R>) &
  ([R['update']] extends [never] ? Nothing : Updates<R>) &
  (R['deletes'] extends true ? Deletes<R> : Nothing) &
  ([keyof R['actions']] extends [never] ? Nothing : Acts<R>)

// Routes

type Part<K extends string, V> = [keyof V] extends [never]
  ? { readonly [P in K]?: undefined }
  : Nothing extends V
    ? { readonly [P in K]?: V }
    : { readonly [P in K]: V }

type RouteRequest<R extends RouteTypes> = Flat<
  Part<'params', { readonly [P in R['params']]: Id }> &
    Part<'query', R['query']> &
    Part<'input', R['input']>
>

type RouteArguments<R> = R extends RouteTypes
  ? Nothing extends RouteRequest<R>
    ? [request?: RouteRequest<R>, options?: CallOptions]
    : [request: RouteRequest<R>, options?: CallOptions]
  : never

type AnswerOf<R> = R extends { readonly output: infer O } ? O : never

// Events

type AnyObject = Readonly<Record<string, unknown>>
type EventType<T extends ApiTypes> = (keyof T['events'] & string) | EngineEventType

/**
 * An event with the object after the change. The server sends it in the version to which the key is
 * pinned, else in the newest: a client with the types of an older version needs a pinned key.
 */
export type ApiEvent<T extends ApiTypes, E extends EventType<T>> = E extends unknown
  ? {
      readonly id: string
      readonly type: E
      /** Unix seconds. */
      readonly created: number
      readonly livemode: boolean
      readonly data: { readonly object: E extends keyof T['events'] ? T['events'][E] : AnyObject }
    }
  : never

type EventQuery<E> = Omit<PageParams, 'after_id'> & {
  readonly type?: E | { readonly in: readonly E[] }
  readonly created?: number | Operators<number>
}

interface Events<T extends ApiTypes> {
  /** Lists recorded events, oldest first: `events.list({ type: 'invoice.paid' })`. */
  list<const E extends EventType<T> = EventType<T>>(
    params?: EventQuery<E>,
    options?: CallOptions,
  ): List<ApiEvent<T, E>>
  get(id: string, options?: CallOptions): Promise<ApiEvent<T, EventType<T>>>
}

// Failures

type ClientCode = 'network_error' | 'timeout' | 'unexpected_response'
type CodeOf<T extends ApiTypes> = (keyof T['failures'] & string) | EngineCode | ClientCode

/** An error with a code, and the details that its declaration has. */
export type ApiError<T extends ApiTypes, C> = GatehookError & {
  readonly code: C
  readonly details: C extends keyof T['failures'] ? T['failures'][C] : undefined
}

/** A client that knows the names and values of one API. */
export interface TypedClient<T extends ApiTypes> {
  /** Returns a collection of the API. */
  collection<N extends keyof T['resources'] & string>(name: N): TypedCollection<T, ResourceOf<T, N>>
  /** Returns a collection of the service, such as `/webhooks`. */
  collection<Row = AnyObject, Create = Partial<Row>, Patch = Partial<Create>>(
    path: `/${string}`,
  ): Collection<Row, Create, Patch>
  /**
   * Calls a route of the team, and returns the body of its response. A body of a media type is
   * `{ media: 'text/csv', body: bytes }`; `headers.accept` selects one of several responses.
   *
   * @example
   * await client.route('POST /invoices/:id/payments', { params: { id }, input: { amount: 100 } })
   */
  route<N extends keyof T['routes'] & string>(
    name: N,
    ...args: RouteArguments<T['routes'][N]>
  ): Promise<AnswerOf<T['routes'][N]>>
  readonly events: Events<T>
  /** Returns whether an error of a method has a code of the API, the engine or this client. */
  isError<C extends CodeOf<T>>(error: unknown, code: C): error is ApiError<T, C>
  /** Sends any request. */
  request<R = unknown>(
    method: string,
    path: string,
    options?: CallOptions & { readonly query?: ListParams; readonly body?: unknown },
  ): Promise<ApiResponse<R>>
}
