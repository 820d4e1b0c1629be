/**
 * The types of a service for `createClient<typeof api>` of gatehook-client: names and values as
 * requests and responses have them (§15.11). `client-code.ts` writes the same types as text.
 * Contains types only.
 */
import type {
  EventRowOf,
  Field,
  FieldJson,
  Fields,
  Flat,
  WireCreateOf,
  WirePatchOf,
  WireRowOf,
} from '../../protocol/fields/fields.ts'
import type { RelationsOf } from '../../protocol/fields/relation-types.ts'
import type { FieldWrite } from '../../protocol/fields/spec.ts'
import type { BodyFields } from './body-fields.ts'
import type { DetailsOf } from './listed-failures.ts'
import type { MediaDeclaration } from './media.ts'
import type { ObjectEvent, RowEvent } from './own-event.ts'
import type { ResourceWords } from './resource-options.ts'
import type { MediaOf, ParametersOf } from './route.ts'

/** The declaration of a service and its routes. */
export interface ServiceWords {
  readonly options: object
  /** By method and path: `POST /invoices/:id/payments`. */
  readonly routes: object
}

/** The words of a service with one more route. */
export interface WithRoute<W extends ServiceWords, N extends string, R> {
  readonly options: W['options']
  readonly routes: W['routes'] & Readonly<Record<N, R>>
}

/** The types of a service. */
export interface ClientTypes<W extends ServiceWords> {
  /** The newest version. */
  readonly version: NewestOf<W['options']>
  readonly resources: ResourceTypesOf<ResourcesOf<W['options']>>
  readonly routes: { readonly [N in keyof W['routes']]: RouteTypes<N, W['routes'][N]> }
  /** The object of each event. */
  readonly events: EventTypesOf<EventsOf<W['options']>>
  /** The details of each failure that the service declares. */
  readonly failures: FailureTypes<
    FailuresOf<ItemOf<W['options'], 'resources'>> | RouteFailures<W['routes']>
  >
}

/** The items of a list of `service({…})`. */
type ItemOf<O, K extends string> = O extends { readonly [P in K]: readonly (infer T)[] } ? T : never

/** The last major. */
type NewestOf<O> = O extends { readonly versions: infer V } ? HighestOf<keyof V & string> : never
type HighestOf<K extends string, N extends readonly 1[] = [1]> = `v${number}` extends K
  ? string
  : [Exclude<K, `v${N['length']}`>] extends [never]
    ? K
    : HighestOf<Exclude<K, `v${N['length']}`>, [...N, 1]>

interface AnyResourceWords {
  readonly fields: Fields
  readonly words: ResourceWords
}

interface ApiResourceWords extends AnyResourceWords {
  readonly words: ApiWords
}

interface ApiWords extends ResourceWords {
  readonly access: Exclude<ResourceWords['access'], false>
}

/** The resources of a service with an API, by name. */
type ResourcesOf<O> = {
  readonly [R in ItemOf<O, 'resources'> as R extends ApiResourceWords
    ? R['words']['name']
    : never]: R extends AnyResourceWords ? R : never
}

type ResourceTypesOf<All> = {
  readonly [N in keyof All]: All[N] extends ApiResourceWords
    ? ResourceTypes<All[N]['fields'], All[N]['words'], All>
    : never
}

/** The types of one resource. `never`: the operation does not exist. */
interface ResourceTypes<F extends Fields, W extends ApiWords, All> {
  readonly row: WireRowOf<F>
  readonly create: [W['access']['create']] extends [false] ? never : WireCreateOf<F>
  readonly update: [W['access']['update']] extends [false] ? never : WirePatchOf<F>
  readonly deletes: [W['access']['delete']] extends [false] ? false : true
  /** The value of each field by which lists are filtered. */
  readonly filters: {
    readonly [P in ListedName<W['list']['filter'][number]>]: ValueAt<F, All, P>
  }
  readonly prefixes: NamesIn<W['list']['prefix']>
  readonly parts: NamesIn<W['list']['contains']>
  readonly sorts: ListedName<W['list']['sort'][number]>
  readonly searches: W['search']
  readonly restores: W['softDelete']
  /** The resource of each relation that `expand` names. */
  readonly relations: RelationsOf<F>
  /** The body of each action. */
  readonly actions: {
    readonly [N in Exclude<keyof W['actions'], W['internal']>]: SentBody<W['actions'][N]>
  }
}

type NamesIn<T> = T extends readonly (infer N)[] ? N : never

/** The names of an entry of `filter` or `sort`. */
type ListedName<L> = L extends string
  ? L
  : L extends { readonly field: infer N extends string }
    ? N
    : L extends readonly (infer N extends string)[]
      ? N
      : never

/** The value of a field, also of one that a relation leads to: `customer.name`. */
type ValueAt<F extends Fields, All, P> = P extends keyof F
  ? FieldJson<F[P]>
  : P extends `${infer H}.${infer Rest}`
    ? RelationsOf<F> extends { readonly [R in H]: { readonly resource: infer T extends keyof All } }
      ? All[T] extends AnyResourceWords
        ? ValueAt<All[T]['fields'], All, Rest>
        : never
      : never
    : never

/** The body of a declared input. */
type SentBody<I> = I extends { readonly fields: infer F extends Fields; readonly words: object }
  ? WireCreateOf<F>
  : I extends BodyFields<infer M extends Fields, infer _>
    ? WireCreateOf<M>
    : I extends MediaDeclaration
      ? { readonly media: MediaOf<I>; readonly body: Uint8Array }
      : I extends Fields
        ? WireCreateOf<I>
        : never

/** The body that a client reads from a response of a media type. */
type ReadBody<T extends string> = T extends `${string}/json` | `${string}+json`
  ? unknown
  : T extends `text/${string}` | `${string}json` | `${string}xml`
    ? string
    : Uint8Array

/** A member of a response. */
type AnswerMember<M> =
  M extends Field<infer _, FieldWrite, infer _X>
    ? FieldJson<M>
    : M extends readonly [infer I]
      ? readonly AnswerMember<I>[]
      : M extends AnyResourceWords
        ? WireRowOf<M['fields']>
        : never

/** The body of a response. */
type AnswerBody<O> = [O] extends [undefined]
  ? unknown
  : O extends AnyResourceWords
    ? WireRowOf<O['fields']>
    : O extends MediaDeclaration
      ? ReadBody<MediaOf<O>>
      : O extends BodyFields<infer M, infer _>
        ? AnswerMembers<M>
        : O extends readonly [infer I]
          ? readonly AnswerBody<I>[]
          : AnswerMembers<O>
type AnswerMembers<M> = { readonly [K in keyof M]: AnswerMember<M[K]> }

type RouteTypes<N, R> = R extends {
  readonly query: infer Q
  readonly input: infer I
  readonly output: infer O
}
  ? {
      readonly params: N extends `${string} ${infer P}` ? ParametersOf<P> : never
      readonly query: SentBody<Q>
      readonly input: SentBody<I>
      readonly output: AnswerBody<O>
    }
  : never

interface EventType {
  readonly type: string
  readonly object: unknown
}

/** Each event of a service with its object. */
type EventsOf<O> =
  | RowEventsOf<ItemOf<O, 'resources'>>
  | OwnEventOf<ItemOf<O, 'events'>>
  | ExternalEventOf<ItemOf<O, 'externalEvents'>>

type RowEventsOf<R> = R extends AnyResourceWords
  ? { readonly type: R['words']['events']; readonly object: EventRowOf<R['fields']> }
  : never

type OwnEventOf<E> =
  E extends RowEvent<infer F, infer T>
    ? { readonly type: T; readonly object: EventRowOf<F> }
    : E extends ObjectEvent<infer M, infer T>
      ? { readonly type: T; readonly object: EventRowOf<M> }
      : never

type ExternalEventOf<E> = E extends string
  ? { readonly type: E; readonly object: AnyObject }
  : E extends { readonly event: infer X }
    ? OwnEventOf<X>
    : E extends { readonly type: infer T }
      ? { readonly type: T; readonly object: AnyObject }
      : never
type AnyObject = Readonly<Record<string, unknown>>

type EventTypesOf<E> = {
  readonly [P in E as P extends EventType ? P['type'] : never]: P extends EventType
    ? P['object']
    : never
}

type FailuresOf<R> = R extends AnyResourceWords ? R['words']['failures'] : never
type RouteFailures<R> = {
  [N in keyof R]: R[N] extends { readonly failures: infer X } ? X : never
}[keyof R]

type FailureTypes<X> = Flat<{
  readonly [C in keyof DetailsOf<X>]: DetailsOf<X>[C] extends infer M extends Fields
    ? [keyof M] extends [never]
      ? undefined
      : EventRowOf<M>
    : undefined
}>
