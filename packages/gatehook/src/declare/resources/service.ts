/**
 * `service({…})` combines resources, versions and routes into the definition that the engine runs.
 * It validates the whole declaration, and reports all mistakes in one `DeclarationError`.
 */
import type { EngineEventType } from '../../history/events/engine-types.ts'
import type { ClaimsHook } from '../../identity/people/person.ts'
import {
  findMailMistakes,
  type MailDefinition,
  type MailOptions,
  type MailTransport,
} from '../../platform/mail/message.ts'
import {
  checkWhole,
  type DeclarationMistake,
  duplicatesIn,
  reportMistakes,
  reportUnknown,
} from '../../protocol/fields/declaration-mistakes.ts'
import type { EventRowOf, Fields } from '../../protocol/fields/fields.ts'
import type { VersionDefinition } from '../versions/calendar.ts'
import { parseVersions } from '../versions/declaration.ts'
import { bodyChanges } from './body-versions.ts'
import { findChangeMistakes } from './change-check.ts'
import type { ClientTypes, ServiceWords, WithRoute } from './client-types.ts'
import { declaredMembers } from './declared-members.ts'
import { declarationSite } from './declared-resource.ts'
import { listAllEventTypes } from './event-type-list.ts'
import { findForwardMistakes, findUpstreamMistakes } from './forward-check.ts'
import { findInputIdMistakes, findPrefixMistakes } from './id-check.ts'
import {
  defineEventHandler,
  defineJob,
  defineSchedule,
  type EventHandle,
  type HandlerOptions,
  Job,
  type JobDefinition,
  type JobHandle,
  type JobOptions,
  type ScheduleHandle,
  type ScheduleOptions,
} from './job.ts'
import { findJobMistakes } from './job-check.ts'
import {
  type AnyFailure,
  findListedMistakes,
  findRepeatedCodes,
  readFailures,
} from './listed-failures.ts'
import type { MediaDeclaration } from './media.ts'
import { findMigrationMistakes, type MigrationOptions } from './migration-options.ts'
import {
  isOwnEvent,
  type ObjectEvent,
  type OwnEventDefinition,
  type RowEvent,
} from './own-event.ts'
import { withRelatedIndexes } from './related-fields.ts'
import { Resource, type ResourceDefinition } from './resource.ts'
import { findResourceMistakes } from './resource-check.ts'
import type { ResourceWords } from './resource-options.ts'
import type { RouteDefinition, RouteInput, RouteOptions, RouteOutput, RouteQuery } from './route.ts'
import { findDuplicateRoutes, findRouteMistakes } from './route-check.ts'
import { findScopeMistakes } from './scopes.ts'
import {
  type ExternalEventDefinition,
  type ExternalTypesOf,
  findEventMistakes,
  findForeignType,
  toExternal,
} from './service-events.ts'
import {
  readServiceOptions,
  type ServiceContact,
  type ServiceLicense,
  type ServiceOptions,
} from './service-options.ts'
import {
  type AnyForwardOptions,
  defineForward,
  defineUpstream,
  type ForwardOptions,
  type ForwardOutput,
  type UpstreamDefinition,
  type UpstreamOptions,
} from './upstream.ts'

export type { MigrationOptions }

export interface ServiceDefinition {
  readonly name: string
  readonly vendor: string
  /** Members of `info` in OpenAPI documents. */
  readonly info: { readonly license?: ServiceLicense; readonly contact?: ServiceContact }
  readonly versions: readonly VersionDefinition[]
  readonly resources: readonly ResourceDefinition[]
  readonly events: readonly OwnEventDefinition[]
  readonly externalEvents: readonly ExternalEventDefinition[]
  readonly migrations: readonly MigrationOptions[]
  readonly routes: readonly RouteDefinition[]
  readonly jobs: readonly JobDefinition[]
  readonly upstreams: readonly UpstreamDefinition[]
  readonly claims?: ClaimsHook | undefined
  /** Rights that no resource or route has. */
  readonly scopes?: readonly string[] | undefined
  /** The most scopes of clients that describe themselves (§16.4); undefined: those of a person. */
  readonly documentScopes?: readonly string[] | undefined
  readonly mail?: MailDefinition | undefined
}

/**
 * @typeParam E the types of `externalEvents`
 * @typeParam W what clients call
 */
// biome-ignore lint/suspicious/noExplicitAny: any declaration
export class Service<E extends string = string, W extends ServiceWords = any> {
  readonly definition: ServiceDefinition
  /** The types of `createClient<typeof api>` of gatehook-client. */
  declare readonly types: ClientTypes<W>

  constructor(definition: ServiceDefinition) {
    this.definition = definition
  }

  /** Adds an endpoint of the team, with the same pipeline, docs and usage counts (§6.8). */
  route<
    Q extends RouteQuery = Record<never, never>,
    I extends RouteInput = Record<never, never>,
    P extends string = string,
    const O extends RouteOutput | undefined = undefined,
    S extends boolean = false,
    const M extends RouteDefinition['method'] = RouteDefinition['method'],
    const X extends AnyFailure = never,
  >(
    options: RouteOptions<Q, I, P, O, S, M, X>,
  ): Service<E, WithRoute<W, `${M} ${P}`, { query: Q; input: I; output: O; failures: X }>> {
    if (typeof options !== 'object' || options === null) {
      reportMistakes(['.route(): options are required, for example { method, path }'])
      return new Service(this.definition)
    }
    const { method, path, query, input, output, failures } = options
    const call = `route ${String(method)} ${String(path)}`
    reportUnknown(call, options, declaredMembers.route)
    reportMistakes(findListedMistakes(failures).map((mistake) => `${call}: ${mistake}`))
    const changes = [query, input, output].flatMap(bodyChanges)
    const listed = failures && { failures: readFailures(failures) }
    const route = { ...options, ...listed, changes } as unknown as RouteDefinition
    const routes = [...this.definition.routes, route]
    return new Service(checkDefinition({ ...this.definition, routes }))
  }

  /** Adds an upstream, which answers the routes of `.forward()` that name it (§17.5). */
  upstream(name: string, options: UpstreamOptions): Service<E, W> {
    const call = `.upstream('${name}')`
    reportUnknown(call, options, declaredMembers.upstream)
    const { upstreams } = this.definition
    const mistakes = findUpstreamMistakes(name, options ?? {}, upstreams)
    reportMistakes(mistakes.map((mistake) => `${call}: ${mistake}`))
    const added = mistakes.length > 0 ? [] : [defineUpstream(name, options)]
    return new Service<E, W>({ ...this.definition, upstreams: [...upstreams, ...added] })
  }

  /** Adds a route that an upstream answers, in the pipeline of all routes (§17.5). */
  forward<
    Q extends RouteQuery | 'pass' = Record<never, never>,
    I extends RouteQuery | MediaDeclaration = Record<never, never>,
    P extends string = string,
    const O extends ForwardOutput | undefined = undefined,
    const M extends RouteDefinition['method'] = RouteDefinition['method'],
  >(
    options: ForwardOptions<Q, I, P, O, M>,
  ): Service<E, WithRoute<W, `${M} ${P}`, { query: Q; input: I; output: O; failures: never }>> {
    const { method, path } = options ?? {}
    const call = `forward ${String(method)} ${String(path)}`
    reportUnknown(call, options, declaredMembers.forward)
    const given = (options ?? {}) as AnyForwardOptions
    const mistakes = findForwardMistakes(given, this.definition.upstreams)
    reportMistakes(mistakes.map((mistake) => `${call}: ${mistake}`))
    if (mistakes.length > 0) return new Service(this.definition)
    const routes = [...this.definition.routes, defineForward(given)]
    return new Service(checkDefinition({ ...this.definition, routes }))
  }

  /** Adds the code of a job, which `tx.enqueue(job, input)` enqueues. It runs at least once. */
  job<I extends Fields>(job: Job<I>, handle: JobHandle<I>, options?: JobOptions): Service<E, W> {
    if (!(job instanceof Job)) {
      reportMistakes(['.job(): the first argument is the result of job(name, fields)'])
      return this
    }
    reportUnknown(`.job ${job.name}`, options, declaredMembers.job)
    return this.#withJob(defineJob(job, handle, options))
  }

  /**
   * Adds a recurring job: at an interval (`15m`, `1h`, `1d`) or by a cron expression (`0 3 * * *`),
   * on one node. Missed times are one run. With `{ each: 'customer' }` every customer has its run.
   */
  every<const A extends 'customer' | undefined = undefined>(
    schedule: string,
    name: string,
    handle: ScheduleHandle<A>,
    options?: ScheduleOptions<A>,
  ): Service<E, W> {
    reportUnknown(`.every ${name}`, options, declaredMembers.every)
    return this.#withJob(defineSchedule(schedule, name, handle, options))
  }

  /**
   * Adds a handler of events: `.on(overdue, handle)` of own code, `.on(invoices, 'invoice.paid',
   * handle)` of a resource, `.on('key.created', handle)` of other backends and of the engine. It
   * runs at least once, in the order of one row.
   */
  on<F extends Fields>(
    event: RowEvent<F>,
    handle: EventHandle<EventRowOf<F>>,
    options?: HandlerOptions,
  ): Service<E, W>
  on<M extends Fields>(
    event: ObjectEvent<M>,
    handle: EventHandle<EventRowOf<M>>,
    options?: HandlerOptions,
  ): Service<E, W>
  on<F extends Fields, S, R extends ResourceWords>(
    resource: Resource<F, S, R>,
    type: R['events'],
    handle: EventHandle<EventRowOf<F>>,
    options?: HandlerOptions,
  ): Service<E, W>
  on(type: E | EngineEventType, handle: EventHandle, options?: HandlerOptions): Service<E, W>
  on(source: unknown, ...rest: unknown[]): Service<E, W> {
    const ofResource = source instanceof Resource ? source.definition : undefined
    const [handle, options] = (ofResource ? rest.slice(1) : rest) as [EventHandle, HandlerOptions?]
    const type = ofResource ? rest[0] : isOwnEvent(source) ? source.definition.type : source
    reportUnknown(`.on ${type}`, options, declaredMembers.on)
    if (ofResource) reportMistakes(findForeignType(ofResource, String(type)))
    return this.#withJob(defineEventHandler(type as string, handle, options))
  }

  #withJob(job: JobDefinition): Service<E, W> {
    const jobs = [...this.definition.jobs, job]
    return new Service<E, W>(checkDefinition({ ...this.definition, jobs }))
  }

  /**
   * Sends the mail of the service with a transport: `smtp(url)`, or an object with
   * `send(message)`. Without a transport, mail is stored as files in the data folder.
   */
  mail(transport: MailTransport | undefined, options: MailOptions): Service<E, W> {
    reportUnknown('.mail()', options, declaredMembers.mail)
    reportMistakes(findMailMistakes(transport, options))
    if (this.definition.mail) reportMistakes(['.mail() is declared twice'])
    return new Service<E, W>({ ...this.definition, mail: { ...options, transport } })
  }
}

/**
 * Declares a service. Throws `DeclarationError` with a sentence per mistake.
 *
 * @example
 * export const api = service({
 *   name: 'Notes',
 *   versions: { v1: { released: '2026-06-01' } },
 *   resources: [notes],
 * })
 */
export function service<const O extends ServiceOptions>(
  options: O,
  // biome-ignore lint/complexity/noBannedTypes: no route yet
): Service<ExternalTypesOf<O>, { readonly options: O; readonly routes: {} }> {
  const given = readServiceOptions(options)
  const { versions, mistakes } = parseVersions(given.versions)
  const definition = {
    name: given.name,
    vendor: given.vendor ?? 'gatehook',
    info: {
      ...(given.license && { license: given.license }),
      ...(given.contact && { contact: given.contact }),
    },
    versions,
    resources: withRelatedIndexes(given.resources.map(({ definition }) => definition)),
    events: (given.events ?? []).map(({ definition }) => definition),
    externalEvents: (given.externalEvents ?? []).map(toExternal),
    migrations: given.migrations ?? [],
    routes: [],
    jobs: [],
    upstreams: [],
    claims: given.claims,
    scopes: given.scopes,
    documentScopes: given.oauth?.documents?.scopes,
  }
  return new Service(checkChanges(checkDefinition(definition, mistakes)))
}

/** Returns the mistakes of each resource, with the call that declared it. */
const findInResources = (
  resources: readonly ResourceDefinition[],
  find: (resource: ResourceDefinition) => readonly string[],
): DeclarationMistake[] =>
  resources.flatMap((resource) =>
    checkWhole(() => find(resource)).map((mistake) => ({
      sentence: `resource ${resource.name}: ${mistake}`,
      site: declarationSite(resource),
    })),
  )

/** Runs the changes between versions on sample rows: only a run shows their mistakes. */
function checkChanges(definition: ServiceDefinition): ServiceDefinition {
  const versions = definition.versions.map(({ name }) => name)
  const find = (resource: ResourceDefinition) => findChangeMistakes(resource, versions)
  reportMistakes(findInResources(definition.resources, find))
  return definition
}

function checkDefinition(
  definition: ServiceDefinition,
  versionMistakes: readonly string[] = [],
): ServiceDefinition {
  const { resources, migrations, routes, jobs } = definition
  const versions = definition.versions.map(({ name }) => name)
  const signIn = resources.filter(({ signsIn }) => signsIn).map(({ name }) => name)
  const checks: readonly (() => readonly string[])[] = [
    () => versionMistakes,
    ...routes.map((route) => () => findRouteMistakes(route, resources, versions)),
    () => findDuplicateRoutes(routes),
    () => findScopeMistakes(definition),
    () => findRepeatedCodes(definition),
    () => findEventMistakes(definition),
    () => findJobMistakes(jobs, new Set(listAllEventTypes(definition))),
    () => findMigrationMistakes(migrations),
    () =>
      duplicatesIn(resources.map(({ name }) => name)).map(
        (name) => `resource ${name} is declared twice`,
      ),
    () => findPrefixMistakes(resources),
    () => findInputIdMistakes(definition),
    () =>
      signIn.length > 1
        ? [`${signIn.join(' and ')}: the rows of one resource sign in; the subject is their id`]
        : [],
  ]
  reportMistakes([
    ...checks.flatMap(checkWhole),
    ...findInResources(resources, (item) => findResourceMistakes(item, { resources, versions })),
  ])
  return definition
}
