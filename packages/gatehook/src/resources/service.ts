/**
 * `service({…})` gathers resources, versions and further routes into what the engine runs, and
 * refuses what does not hold together. Mistakes are told at once, each a sentence for the
 * developer.
 */
import { engineEvents } from '../events/engine-types.ts'
import type { ClaimsHook } from '../people/person.ts'
import type { VersionDefinition } from '../versions/calendar.ts'
import { parseVersions, type VersionOptions } from '../versions/declaration.ts'
import { DeclarationError, type Fields } from './fields.ts'
import { ownershipMistakes } from './ownership.ts'
import { probeMistakes } from './probe.ts'
import type { AnyResource, Definition } from './resource.ts'
import type { RouteDefinition, RouteOptions } from './route.ts'
import { scopeMistakes } from './scopes.ts'

export interface ServiceOptions {
  /** As people read it in docs and pages. */
  readonly name: string
  /** In `application/vnd.<vendor>.api.v1+json`; default `gatehook`. */
  readonly vendor?: string
  /** Majors, oldest first. */
  readonly versions: Readonly<Record<`v${number}`, VersionOptions>>
  /** What `resource(…)` and its chain gave. */
  readonly resources: readonly AnyResource[]
  /**
   * Event types of the team's own code, beside those of the resources: `payment.succeeded`, or
   * `{type, scope}` with the scope that reads them (§9.14).
   */
  readonly externalEvents?: readonly (string | ExternalEvent)[]
  /**
   * Changes of tables that do more than add (§6.6), oldest first. Each is applied once, at start.
   */
  readonly migrations?: readonly MigrationOptions[]
  /**
   * What access tokens say of a person besides `name` and `role` (§4.1), from the person and its
   * row. Pure; asked at sign-in and at each refresh. What is reserved is left out.
   */
  readonly claims?: ClaimsHook
}

/** An event type that no resource emits; without a scope `events:read` alone reads it. */
export interface ExternalEvent {
  readonly type: string
  readonly scope?: string
}

/** A change of one table that rows exist in, written and reviewed by the team. */
export interface MigrationOptions {
  /** 1, 2, 3, …; never given to another one. */
  readonly number: number
  /** A few words for the log: `note becomes memo`. */
  readonly name: string
  /**
   * The table it changes, by its name before the change. A database without the table, such as a
   * new one, gets it in today's shape and does not run the migration. A migration without `table`
   * runs on every database, once the tables of all resources are up to date: for tables, indexes
   * and views of your own.
   */
  readonly table?: string
  /**
   * Statements; `{int}`, `{real}` and `{text}` are the database's words. Two texts where they
   * differ.
   */
  readonly sql: string | { readonly sqlite: string; readonly postgres: string }
}

export interface ServiceDefinition {
  readonly name: string
  readonly vendor: string
  readonly versions: readonly VersionDefinition[]
  readonly resources: readonly Definition[]
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

  /** An endpoint of the team's own, with the same pipeline, docs and ledger (§6.8). */
  route<
    Q extends Fields = Record<never, never>,
    I extends Fields = Record<never, never>,
    P extends string = string,
  >(options: RouteOptions<Q, I, P>): Service {
    const routes = [...this.definition.routes, options as unknown as RouteDefinition]
    return new Service(checked({ ...this.definition, routes }))
  }
}

export function service(options: ServiceOptions): Service {
  requireMembers(options)
  const { versions, mistakes } = parseVersions(options.versions)
  const definition = {
    name: options.name,
    vendor: options.vendor ?? 'gatehook',
    versions,
    resources: options.resources.map((one) => one.definition),
    externalEvents: (options.externalEvents ?? []).map((one) =>
      typeof one === 'string' ? { type: one } : one,
    ),
    migrations: options.migrations ?? [],
    routes: [],
    claims: options.claims,
  }
  return new Service(probed(checked(definition, mistakes)))
}

/** Throws `DeclarationError` for required members that plain JavaScript left out. */
function requireMembers({ name, versions, resources }: Partial<ServiceOptions>): void {
  const missing = [
    typeof name !== 'string' && 'name is required, for example "notes"',
    (typeof versions !== 'object' || versions === null) &&
      "versions is required, for example { v1: { released: '2026-06-01' } }",
    !Array.isArray(resources) && 'resources is required: an array of resource(…)',
  ].filter((sentence) => sentence !== false)
  if (missing.length > 0) throw new DeclarationError(`service: ${missing.join('; ')}`)
}

/** Changes between versions are tried on rows at the edges: only a run tells what they do. */
function probed(definition: ServiceDefinition): ServiceDefinition {
  const versions = definition.versions.map(({ name }) => name)
  const wrong = definition.resources.flatMap((one) =>
    probeMistakes(one, versions).map((why) => `resource ${one.name}: ${why}`),
  )
  if (wrong.length > 0) throw new DeclarationError(wrong.join('\n'))
  return definition
}

/** Query names that lists, credentials and versions have taken. */
const takenParameters = new Set([
  ...['limit', 'offset', 'page', 'per_page', 'cursor', 'after_id', 'pagination', 'sort', 'fields'],
  ...['api_key', 'access_token', 'version', 'v'],
])
/** First segments under `/api` that are the engine's, or would be read as a version. */
const takenPaths = /^(protected|latest|stable|v\d.*|\d.*)$/
/** What the engine and the databases call their own tables. */
const takenTables = /^(gh|pg|sqlite)_/
const EVENT_TYPE = /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/

function checked(
  definition: ServiceDefinition,
  mistakes: readonly string[] = [],
): ServiceDefinition {
  const wrong = [
    ...mistakes,
    ...routeMistakes(definition),
    ...scopeMistakes(definition),
    ...eventMistakes(definition),
  ]
  definition.migrations.forEach(({ number }, at, all) => {
    const before = all[at - 1]?.number ?? 0
    if (!Number.isSafeInteger(number) || number <= before) {
      wrong.push(`migration ${number}: numbers are 1, 2, …, oldest first`)
    }
  })
  const names = definition.resources.map((one) => one.name)
  for (const name of names.filter((one, at) => names.indexOf(one) < at)) {
    wrong.push(`resource ${name} is declared twice`)
  }
  const signing = definition.resources.filter((one) => one.signsIn).map((one) => one.name)
  if (signing.length > 1) {
    wrong.push(
      `${signing.join(' and ')}: the rows of one resource sign in; the subject is their id`,
    )
  }
  for (const one of definition.resources) {
    wrong.push(...resourceMistakes(one, definition).map((why) => `resource ${one.name}: ${why}`))
  }
  if (wrong.length > 0) throw new DeclarationError(wrong.join('\n'))
  return definition
}

/** One type has one meaning: its collection decides who may read it (§9.14). */
function eventMistakes({ resources, externalEvents }: ServiceDefinition): string[] {
  const wrong: string[] = []
  const owners = new Map(Object.keys(engineEvents).map((type) => [type, 'the engine']))
  const claim = (type: string, owner: string) => {
    const other = owners.get(type) ?? owner
    if (other !== owner) wrong.push(`event ${type}: is declared by ${other} and by ${owner}`)
    owners.set(type, owner)
  }
  for (const { name, events, actions } of resources) {
    for (const type of [...events, ...actions.flatMap((one) => one.emits ?? [])]) claim(type, name)
  }
  for (const { type } of externalEvents) {
    claim(type, 'externalEvents')
    if (!EVENT_TYPE.test(type)) wrong.push(`event ${type}: types look like payment.succeeded`)
  }
  return wrong
}

function routeMistakes({ routes, resources }: ServiceDefinition): string[] {
  const wrong: string[] = []
  for (const { method, path } of routes) {
    const parts = path.split('/')
    if (parts[0] !== '' || !parts.slice(1).every((part) => /^:?[a-z][a-z0-9_-]*$/.test(part))) {
      wrong.push(`route ${method} ${path}: paths look like /reports/daily or /reports/:id`)
    } else if (takenPaths.test(parts[1]!)) {
      wrong.push(`route ${method} ${path}: /${parts[1]} is taken`)
    } else if (resources.some((one) => one.name === parts[1]) && parts.length < 4) {
      wrong.push(`route ${method} ${path}: /${parts[1]} belongs to the resource of that name`)
    }
  }
  return wrong
}

function resourceMistakes(one: Definition, all: ServiceDefinition): string[] {
  const wrong: string[] = []
  const versions = all.versions.map((version) => version.name)
  if (takenPaths.test(one.name) || takenTables.test(one.name)) wrong.push('the name is taken')
  for (const name of [...one.filter, ...one.sort]) {
    if (!Object.hasOwn(one.fields, name)) wrong.push(`list: there is no field ${name}`)
  }
  const username = one.signsIn?.username
  if (username !== undefined && !/^(string|email)$/.test(one.fields[username]?.kind ?? '')) {
    wrong.push(`.signsIn(): ${username} is no f.string() or f.email() here`)
  }
  const actions = one.actions.map((action) => action.name)
  for (const name of actions.filter((action, at) => actions.indexOf(action) < at)) {
    wrong.push(`action ${name} is declared twice`)
  }
  for (const [name, spec] of Object.entries(one.fields)) {
    if (takenParameters.has(name) && one.filter.includes(name)) {
      wrong.push(`${name}: a filter of this name would hide a parameter of every list`)
    }
    const target = all.resources.find((other) => other.name === spec.target)
    if (spec.kind === 'ref' && !target) wrong.push(`${name}: there is no resource ${spec.target}`)
    const set = spec.default !== undefined || spec.stamp || spec.kind === 'id'
    if (spec.write === 'never' && !set && !spec.nullable) {
      wrong.push(`${name}: is read-only and has no default, so no row could be made`)
    }
  }
  const emitted = one.actions.flatMap((action) => action.emits ?? [])
  for (const type of [...one.events, ...emitted]) {
    if (!EVENT_TYPE.test(type)) wrong.push(`event ${type}: types look like order.paid`)
  }
  const changeOrder = one.changes.map((change) => versions.indexOf(change.version))
  if (changeOrder.some((at) => at < 1)) {
    wrong.push(`.before() names a version after the first of ${versions.join(', ')}`)
  }
  if (changeOrder.some((at, n) => n > 0 && at > changeOrder[n - 1]!)) {
    wrong.push('.before() stands newest version first')
  }
  return [
    ...wrong,
    ...ownershipMistakes(one, all.resources),
    ...editableMistakes(one),
    ...changeMistakes(one),
  ]
}

function editableMistakes({ fields, editable }: Definition): string[] {
  return editable
    .flatMap((rule) => rule.fields)
    .filter((name) => (fields[name]?.write ?? 'never') === 'never')
    .map((name) => `.editable(): clients never write ${name}`)
}

/**
 * What the types of `.before()` cannot say: a name is given up before it is given to something
 * else.
 */
function changeMistakes({ fields, changes }: Definition): string[] {
  const wrong: string[] = []
  const shape = new Set(Object.keys(fields))
  for (const { version, had, hadNot } of changes) {
    for (const name of hadNot) {
      if (name === 'id') wrong.push(`.before('${version}'): every version has the id`)
      if (!shape.delete(name)) wrong.push(`.before('${version}'): there was no field ${name}`)
    }
    for (const name of Object.keys(had)) {
      if (shape.has(name)) wrong.push(`.before('${version}'): name ${name} in hadNot too`)
      shape.add(name)
    }
  }
  return wrong
}

export const externalTypes = ({ externalEvents }: ServiceDefinition): string[] =>
  externalEvents.map(({ type }) => type)

/** Every event type the service can emit, sorted. */
export function eventTypes(definition: ServiceDefinition): string[] {
  const own = definition.resources.flatMap((one) => [
    ...one.events,
    ...one.actions.flatMap((action) => action.emits ?? []),
  ])
  return [...new Set([...own, ...externalTypes(definition)])].sort()
}

/** Resources so that each stands after those it points to; throws when they point in a circle. */
export function inReferenceOrder(resources: readonly Definition[]): Definition[] {
  const ordered: Definition[] = []
  const open = new Set<string>()
  const visit = (one: Definition): void => {
    if (ordered.includes(one)) return
    if (open.has(one.name)) throw new DeclarationError(`resources point in a circle at ${one.name}`)
    open.add(one.name)
    for (const spec of Object.values(one.fields)) {
      const target = resources.find((other) => other.name === spec.target)
      if (target && target !== one) visit(target)
    }
    ordered.push(one)
  }
  for (const one of resources) visit(one)
  return ordered
}
