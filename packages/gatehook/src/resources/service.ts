/**
 * `service({…})` combines resources, versions and routes into the definition that the engine runs.
 * It validates the whole declaration, and reports all mistakes in one `DeclarationError`.
 */
import { engineEvents } from '../events/engine-types.ts'
import type { ClaimsHook } from '../people/person.ts'
import type { VersionDefinition } from '../versions/calendar.ts'
import { parseVersions, type VersionOptions } from '../versions/declaration.ts'
import { findChangeMistakes } from './change-check.ts'
import { DeclarationError, type Fields } from './fields.ts'
import { findOwnershipMistakes } from './ownership.ts'
import type { AnyResource, ResourceDefinition } from './resource.ts'
import type { RouteDefinition, RouteOptions } from './route.ts'
import { findScopeMistakes } from './scopes.ts'

export interface ServiceOptions {
  /** The name in docs and pages. */
  readonly name: string
  /** The name in `application/vnd.<vendor>.api.v1+json`. Default: `gatehook`. */
  readonly vendor?: string
  /** The majors, oldest first. */
  readonly versions: Readonly<Record<`v${number}`, VersionOptions>>
  /** The results of `resource(…)` and its chain. */
  readonly resources: readonly AnyResource[]
  /**
   * Event types of the team's code, in addition to those of the resources: `payment.succeeded`, or
   * `{type, scope}` with the scope that reads them (§9.14).
   */
  readonly externalEvents?: readonly (string | ExternalEvent)[]
  /**
   * Changes of tables that are not additions (§6.6), oldest first. Each is applied once, at start.
   */
  readonly migrations?: readonly MigrationOptions[]
  /**
   * Returns additional claims of a person's access tokens (§4.1) from the person and its row. Pure;
   * runs at sign-in and at each refresh. Reserved claims are omitted.
   */
  readonly claims?: ClaimsHook
}

/** An event type that no resource emits. Without a scope, `events:read` is sufficient. */
interface ExternalEvent {
  readonly type: string
  readonly scope?: string
}

/** A change of a table with rows, which the team writes and reviews. */
export interface MigrationOptions {
  /** 1, 2, 3, …; never reused. */
  readonly number: number
  /** A summary for the log: `note becomes memo`. */
  readonly name: string
  /**
   * The table, by its name before the change. A database without the table does not run the
   * migration: it creates the table in the current shape. A migration without `table` runs on every
   * database after the tables of all resources are up to date: for tables, indexes and views of the
   * team.
   */
  readonly table?: string
  /**
   * The statements; `{int}`, `{real}` and `{text}` are column types. Two texts if the databases
   * differ.
   */
  readonly sql: string | { readonly sqlite: string; readonly postgres: string }
}

export interface ServiceDefinition {
  readonly name: string
  readonly vendor: string
  readonly versions: readonly VersionDefinition[]
  readonly resources: readonly ResourceDefinition[]
  readonly externalEvents: readonly ExternalEvent[]
  readonly migrations: readonly MigrationOptions[]
  readonly routes: readonly RouteDefinition[]
  readonly claims?: ClaimsHook | undefined
}

export class Service {
  readonly definition: ServiceDefinition

  constructor(definition: ServiceDefinition) {
    this.definition = definition
  }

  /** Adds an endpoint of the team, with the same pipeline, docs and usage counts (§6.8). */
  route<
    Q extends Fields = Record<never, never>,
    I extends Fields = Record<never, never>,
    P extends string = string,
  >(options: RouteOptions<Q, I, P>): Service {
    const routes = [...this.definition.routes, options as unknown as RouteDefinition]
    return new Service(checkDefinition({ ...this.definition, routes }))
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
export function service(options: ServiceOptions): Service {
  requireMembers(options)
  const { versions, mistakes } = parseVersions(options.versions)
  const definition = {
    name: options.name,
    vendor: options.vendor ?? 'gatehook',
    versions,
    resources: options.resources.map(({ definition }) => definition),
    externalEvents: (options.externalEvents ?? []).map((event) =>
      typeof event === 'string' ? { type: event } : event,
    ),
    migrations: options.migrations ?? [],
    routes: [],
    claims: options.claims,
  }
  return new Service(checkChanges(checkDefinition(definition, mistakes)))
}

/** Throws `DeclarationError` for required members that plain JavaScript omitted. */
function requireMembers({ name, versions, resources }: Partial<ServiceOptions>): void {
  const missing = [
    typeof name !== 'string' && 'name is required, for example "notes"',
    (typeof versions !== 'object' || versions === null) &&
      "versions is required, for example { v1: { released: '2026-06-01' } }",
    !Array.isArray(resources) && 'resources is required: an array of resource(…)',
  ].filter((sentence) => sentence !== false)
  if (missing.length > 0) throw new DeclarationError(`service: ${missing.join('; ')}`)
}

/** Runs the changes between versions on sample rows: only a run shows their mistakes. */
function checkChanges(definition: ServiceDefinition): ServiceDefinition {
  const versions = definition.versions.map(({ name }) => name)
  const mistakes = definition.resources.flatMap((resource) =>
    findChangeMistakes(resource, versions).map(
      (mistake) => `resource ${resource.name}: ${mistake}`,
    ),
  )
  if (mistakes.length > 0) throw new DeclarationError(mistakes.join('\n'))
  return definition
}

/** Query parameters of lists, credentials and versions. */
const reservedParameters = new Set(
  (
    'limit offset page per_page cursor after_id pagination sort fields ' +
    'api_key access_token version v'
  ).split(' '),
)
/** First segments under `/api` that the engine uses, or that look like a version. */
const RESERVED_SEGMENT = /^(protected|latest|stable|v\d.*|\d.*)$/
/** Prefixes of the tables of the engine and the databases. */
const RESERVED_TABLE = /^(gh|pg|sqlite)_/
const EVENT_TYPE = /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/

const duplicatesIn = (names: readonly string[]): string[] =>
  names.filter((name, index) => names.indexOf(name) < index)

function checkDefinition(
  definition: ServiceDefinition,
  versionMistakes: readonly string[] = [],
): ServiceDefinition {
  const { resources, migrations } = definition
  const signIn = resources.filter(({ signsIn }) => signsIn).map(({ name }) => name)
  const mistakes = [
    ...versionMistakes,
    ...routeMistakes(definition),
    ...findScopeMistakes(definition),
    ...eventMistakes(definition),
    ...migrations
      .map(({ number }) => number)
      .filter((number, n, all) => !Number.isSafeInteger(number) || number <= (all[n - 1] ?? 0))
      .map((number) => `migration ${number}: numbers are 1, 2, …, oldest first`),
    ...duplicatesIn(resources.map(({ name }) => name)).map(
      (name) => `resource ${name} is declared twice`,
    ),
    ...(signIn.length > 1
      ? [`${signIn.join(' and ')}: the rows of one resource sign in; the subject is their id`]
      : []),
    ...resources.flatMap((resource) =>
      resourceMistakes(resource, definition).map(
        (mistake) => `resource ${resource.name}: ${mistake}`,
      ),
    ),
  ]
  if (mistakes.length > 0) throw new DeclarationError(mistakes.join('\n'))
  return definition
}

const actionEvents = ({ actions }: ResourceDefinition): string[] =>
  actions.flatMap(({ emits }) => emits ?? [])

/** An event type has one source: its collection determines who can read it (§9.14). */
function eventMistakes({ resources, externalEvents }: ServiceDefinition): string[] {
  const mistakes: string[] = []
  const sourceByType = new Map(Object.keys(engineEvents).map((type) => [type, 'the engine']))
  const addSource = (type: string, source: string) => {
    const other = sourceByType.get(type) ?? source
    if (other !== source) mistakes.push(`event ${type}: is declared by ${other} and by ${source}`)
    sourceByType.set(type, source)
  }
  for (const resource of resources) {
    for (const type of [...resource.events, ...actionEvents(resource)]) {
      addSource(type, resource.name)
    }
  }
  for (const { type } of externalEvents) {
    addSource(type, 'externalEvents')
    if (!EVENT_TYPE.test(type)) mistakes.push(`event ${type}: types look like payment.succeeded`)
  }
  return mistakes
}

function routeMistakes({ routes, resources }: ServiceDefinition): string[] {
  return routes.flatMap(({ method, path }) => {
    const route = `route ${method} ${path}`
    const [root, first, ...rest] = path.split('/')
    const segments = [first ?? '', ...rest]
    if (root !== '' || !segments.every((segment) => /^:?[a-z][a-z0-9_-]*$/.test(segment))) {
      return [`${route}: paths look like /reports/daily or /reports/:id`]
    }
    if (RESERVED_SEGMENT.test(first!)) return [`${route}: /${first} is taken`]
    if (resources.some(({ name }) => name === first) && rest.length < 2) {
      return [`${route}: /${first} belongs to the resource of that name`]
    }
    return []
  })
}

function resourceMistakes(resource: ResourceDefinition, service: ServiceDefinition): string[] {
  const { name, fields, signsIn } = resource
  const mistakes: string[] = []
  if (RESERVED_SEGMENT.test(name) || RESERVED_TABLE.test(name)) mistakes.push('the name is taken')
  for (const field of [...resource.filter, ...resource.sort]) {
    if (!Object.hasOwn(fields, field)) mistakes.push(`list: there is no field ${field}`)
  }
  const username = signsIn?.username
  if (username !== undefined && !/^(string|email)$/.test(fields[username]?.kind ?? '')) {
    mistakes.push(`.signsIn(): ${username} is not an f.string() or f.email()`)
  }
  for (const action of duplicatesIn(resource.actions.map((action) => action.name))) {
    mistakes.push(`action ${action} is declared twice`)
  }
  for (const type of [...resource.events, ...actionEvents(resource)]) {
    if (!EVENT_TYPE.test(type)) mistakes.push(`event ${type}: types look like order.paid`)
  }
  return [
    ...mistakes,
    ...fieldMistakes(resource, service.resources),
    ...findOwnershipMistakes(resource, service.resources),
    ...resource.editable
      .flatMap((rule) => rule.fields)
      .filter((field) => (fields[field]?.write ?? 'never') === 'never')
      .map((field) => `.editable(): clients never write ${field}`),
    ...changeMistakes(
      resource,
      service.versions.map((version) => version.name),
    ),
  ]
}

function fieldMistakes(
  { fields, filter }: ResourceDefinition,
  resources: readonly ResourceDefinition[],
): string[] {
  const mistakes: string[] = []
  for (const [name, spec] of Object.entries(fields)) {
    if (reservedParameters.has(name) && filter.includes(name)) {
      mistakes.push(`${name}: a filter of this name would hide a parameter of every list`)
    }
    const target = resources.find((resource) => resource.name === spec.target)
    if (spec.kind === 'ref' && !target) {
      mistakes.push(`${name}: there is no resource ${spec.target}`)
    }
    const hasValue = spec.default !== undefined || spec.stamp || spec.kind === 'id'
    if (spec.write === 'never' && !hasValue && !spec.nullable) {
      mistakes.push(`${name}: is read-only and has no default, so no row can be created`)
    }
  }
  return mistakes
}

/** Reports the mistakes in `.before()` that its types do not prevent. */
function changeMistakes(
  { fields, changes }: ResourceDefinition,
  versions: readonly string[],
): string[] {
  const mistakes: string[] = []
  const order = changes.map(({ version }) => versions.indexOf(version))
  if (order.some((index) => index < 1)) {
    mistakes.push(`.before() names a version after the first of ${versions.join(', ')}`)
  }
  if (order.some((index, n) => n > 0 && index > order[n - 1]!)) {
    mistakes.push('.before() comes newest version first')
  }
  const names = new Set(Object.keys(fields))
  for (const { version, had, hadNot } of changes) {
    for (const name of hadNot) {
      if (name === 'id') mistakes.push(`.before('${version}'): every version has the id`)
      if (!names.delete(name)) mistakes.push(`.before('${version}'): there was no field ${name}`)
    }
    for (const name of Object.keys(had)) {
      if (names.has(name)) mistakes.push(`.before('${version}'): name ${name} in hadNot too`)
      names.add(name)
    }
  }
  return mistakes
}

export const externalEventTypes = ({ externalEvents }: ServiceDefinition): string[] =>
  externalEvents.map(({ type }) => type)

/** Returns every event type that the service can emit, sorted. */
export function listEventTypes(definition: ServiceDefinition): string[] {
  const resourceTypes = definition.resources.flatMap((resource) => [
    ...resource.events,
    ...actionEvents(resource),
  ])
  return [...new Set([...resourceTypes, ...externalEventTypes(definition)])].sort()
}

/**
 * Orders resources so that each follows those it refers to. Throws `DeclarationError` for circular
 * references.
 */
export function orderByReference(resources: readonly ResourceDefinition[]): ResourceDefinition[] {
  const ordered: ResourceDefinition[] = []
  const visiting = new Set<string>()
  const visit = (resource: ResourceDefinition): void => {
    if (ordered.includes(resource)) return
    if (visiting.has(resource.name)) {
      throw new DeclarationError(`resources refer to each other in a circle at ${resource.name}`)
    }
    visiting.add(resource.name)
    for (const spec of Object.values(resource.fields)) {
      const target = resources.find(({ name }) => name === spec.target)
      if (target && target !== resource) visit(target)
    }
    ordered.push(resource)
  }
  for (const resource of resources) visit(resource)
  return ordered
}
