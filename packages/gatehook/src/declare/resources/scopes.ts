/** The scopes of a declaration (§3.6), and the default scopes of a person (§6.7). */

import type { ScopeChanges } from '../../identity/access/administration.ts'
import {
  accountScopes,
  isAccountScope,
  isScopeName,
  SCOPE_NAME_MAX,
} from '../../identity/access/scopes.ts'
import { isIdentityScope } from '../../identity/tokens/identity-scopes.ts'
import { findClosest } from '../../kernel/closest.ts'
import type { DeclarationMistake } from '../../protocol/fields/declaration-mistakes.ts'
import { endpointActions } from './action.ts'
import { type ApiResource, withApi } from './api-resources.ts'
import { declarationSite } from './declared-resource.ts'
import { limitingScopes, scopesOfFields } from './field-rights.ts'
import { allScope, owningField } from './ownership.ts'
import type { ResourceDefinition } from './resource.ts'
import type { RouteDefinition } from './route.ts'

interface ReadableEvent {
  readonly type: string
  readonly scope?: string | undefined
}

/** The parts of a service that name scopes. */
interface ScopeSource {
  readonly resources: readonly ResourceDefinition[]
  readonly routes: readonly RouteDefinition[]
  /** Rights that no resource has (§17.3). */
  readonly scopes?: readonly string[] | undefined
  readonly documentScopes?: readonly string[] | undefined
  readonly events?: readonly ReadableEvent[]
  readonly externalEvents: readonly ReadableEvent[]
}

/** Returns a question for the scope that a misspelt one resembles; undefined: none. */
const suggest = (scope: string, candidates: ReadonlySet<string>): string | undefined => {
  const closest = candidates.has(scope) ? undefined : findClosest(scope, [...candidates])
  return closest && `Did you mean ${closest}?`
}

/**
 * Returns a sentence per scope of an action, route or event that resembles one of rows: it is
 * probably misspelt. One that `service({ scopes })` declares is not.
 */
export function findScopeWarnings(service: ScopeSource): string[] {
  const { resources, routes, scopes = [], events = [], externalEvents } = service
  const withoutActions = resources.map((definition) => ({ ...definition, actions: [] }))
  const scopesOfRows = listScopes({ resources: withoutActions, routes: [], externalEvents: [] })
  const named = [
    ...resources.flatMap((definition) =>
      endpointActions(definition).map(
        ({ name, scope }) => [`resource ${definition.name}: .action('${name}')`, scope] as const,
      ),
    ),
    ...routes.map(
      ({ method, path, scope }) => [`route ${String(method)} ${String(path)}`, scope] as const,
    ),
    ...[...events, ...externalEvents].map(({ type, scope }) => [`event ${type}`, scope] as const),
  ]
  return named.flatMap(([where, scope]) => {
    const question = scope && !scopes.includes(scope) && suggest(scope, scopesOfRows)
    return question ? [`${where}: no resource has the scope ${scope}. ${question}`] : []
  })
}

/** A scope that persons, or clients with a document, receive. */
interface GrantedScope {
  readonly where: string
  readonly scope: string
  readonly site: DeclarationMistake['site']
}

function listGrants({ resources, documentScopes = [] }: ScopeSource): GrantedScope[] {
  const ofPersons = resources.flatMap((definition): GrantedScope[] => {
    const { signsIn } = definition
    const scopes = new Set([...(signsIn?.scopes ?? []), ...(signsIn?.signUp?.scopes ?? [])])
    const where = `resource ${definition.name}: .signsIn()`
    return [...scopes].map((scope) => ({ where, scope, site: declarationSite(definition) }))
  })
  const where = 'service: oauth.documents.scopes'
  return [...ofPersons, ...documentScopes.map((scope) => ({ where, scope, site: undefined }))]
}

/** Returns the mistakes of a whole service: calls of its chain can still declare a scope. */
export function findUnusedGrants(service: ScopeSource): DeclarationMistake[] {
  const allScopes = listScopes(service)
  return listGrants(service)
    .filter(({ scope }) => !allScopes.has(scope))
    .map(({ where, scope, site }) => {
      const advice = suggest(scope, allScopes) ?? 'service({ scopes }) names rights of other code.'
      return { sentence: `${where}: nothing requires the scope ${scope}. ${advice}`, site }
    })
}

/** `access: { read: 'public' }`: anonymous callers read (§6.10). */
export const PUBLIC = 'public'

/** Returns the scope that reading requires; undefined for public rows. */
export const readScopeOf = ({ access }: ApiResource): string | undefined =>
  access.read === PUBLIC ? undefined : access.read

const readScopes = (definition: ApiResource): string[] => [readScopeOf(definition) ?? []].flat()

const writeScopes = ({ access }: ApiResource): string[] =>
  [access.create, access.update, access.delete].filter((scope) => scope !== false)

/** Returns every scope that a credential can hold (§3.6): declared ones, then account scopes. */
export function listScopes({
  resources,
  routes,
  scopes = [],
  events = [],
  externalEvents,
}: ScopeSource): Set<string> {
  return new Set([
    ...withApi(resources).flatMap((definition) => [
      ...readScopes(definition),
      ...writeScopes(definition),
      ...endpointActions(definition).map(({ scope }) => scope),
      ...[definition.softDeletion?.scope ?? []].flat(),
      allScope(definition.name),
      ...limitingScopes(definition),
    ]),
    ...routes.map(({ scope }) => scope),
    ...scopes,
    ...[...events, ...externalEvents].flatMap(({ scope }) => scope ?? []),
    ...Object.keys(accountScopes),
  ])
}

/** Returns the scopes with which an operator who changes nothing reads: rows, fields and routes. */
export const listReadingScopes = ({
  resources,
  routes,
}: Pick<ScopeSource, 'resources' | 'routes'>): ReadonlySet<string> =>
  new Set([
    ...withApi(resources).flatMap((definition) => [
      ...readScopes(definition),
      ...[definition.softDeletion?.scope ?? []].flat(),
      allScope(definition.name),
    ]),
    ...[...scopesOfFields(resources).values()].flat(),
    ...routes.filter(({ method }) => method === 'GET').map(({ scope }) => scope),
  ])

/** Returns what each scope that writes permits: resources may exclude some changes. */
export function listScopeChanges({ resources }: Pick<ScopeSource, 'resources'>): ScopeChanges {
  const permitted = new Map<string, Set<string>>()
  for (const definition of withApi(resources)) {
    const { create, update, delete: removal } = definition.access
    const actions = endpointActions(definition).map(({ scope }) => [scope, 'change'] as const)
    const rights = [
      [create, 'create'],
      [update, 'change'],
      ...actions,
      [removal, 'delete'],
    ] as const
    for (const [scope, change] of rights) {
      if (scope === false) continue
      permitted.set(scope, (permitted.get(scope) ?? new Set()).add(change))
    }
  }
  return new Map([...permitted].map(([scope, changes]) => [scope, [...changes]]))
}

/**
 * Returns the default scopes of a person: those in `.signsIn()`. Without them, read of the sign-in
 * resource, and read and write of resources with an owner. Never an account scope.
 */
export function defaultPersonScopes({ resources }: ScopeSource): string[] {
  const declaredScopes = resources.find(({ signsIn }) => signsIn)?.signsIn?.scopes
  if (declaredScopes) return [...new Set(declaredScopes)]
  const allScopes = new Set(resources.map(({ name }) => allScope(name)))
  const scopes = withApi(resources).flatMap((definition) => {
    if (definition.signsIn) return readScopes(definition)
    if (owningField(definition) === undefined) return []
    return [...readScopes(definition), ...writeScopes(definition)]
  })
  return [...new Set(scopes)].filter((scope) => !isAccountScope(scope) && !allScopes.has(scope))
}

const PERSON_ACCESS: readonly unknown[] = [undefined, 'read', 'write']

/** Returns a sentence for the developer per scope without a valid name (§3.6). */
export function findScopeMistakes(service: ScopeSource): string[] {
  const mistakes: string[] = []
  const checkName = (where: string, scope: string | false | undefined) => {
    if (scope === false || scope === undefined) return
    if (typeof scope !== 'string') mistakes.push(`${where}: a scope is a text`)
    else if (scope === PUBLIC) mistakes.push(`${where}: 'public' is for access.read only`)
    else if (isIdentityScope(scope)) {
      mistakes.push(`${where}: the scope "${scope}" is one of OpenID Connect`)
    } else if (!isScopeName(scope)) {
      const name = scope.slice(0, SCOPE_NAME_MAX)
      mistakes.push(`${where}: the scope "${name}" is not of the form collection:write`)
    }
  }
  for (const definition of withApi(service.resources)) {
    const { name, access, actions, softDeletion } = definition
    const where = `resource ${name}`
    if (isAccountScope(`${name}:read`)) mistakes.push(`${where}: the name is taken`)
    if (typeof access.read !== 'string') {
      mistakes.push(`${where}: access.read is a scope, or 'public'`)
    } else if (access.read !== PUBLIC) checkName(`${where}: access.read`, access.read)
    if (!PERSON_ACCESS.includes(access.persons)) {
      mistakes.push(`${where}: access.persons is 'read' or 'write'`)
    }
    checkName(`${where}: access.create`, access.create)
    checkName(`${where}: access.update`, access.update)
    checkName(`${where}: access.delete`, access.delete)
    for (const scope of limitingScopes(definition)) checkName(`${where}: a field`, scope)
    checkName(`${where}: softDelete.scope`, softDeletion?.scope)
    for (const action of actions) checkName(`${where}: action ${action.name}`, action.scope)
  }
  for (const { type, scope } of [...(service.events ?? []), ...service.externalEvents]) {
    checkName(`event ${type}`, scope)
  }
  for (const scope of service.scopes ?? []) {
    checkName('service: scopes', scope)
    if (isAccountScope(scope)) mistakes.push(`service: scopes: ${scope} is a scope of Gatehook`)
  }
  for (const { method, path, scope } of service.routes)
    checkName(`route ${String(method)} ${String(path)}`, scope)
  return [...mistakes, ...grantedScopeMistakes(service)]
}

/** Scopes of persons, and of clients with a document: account scopes are granted by an operator. */
function grantedScopeMistakes(service: ScopeSource): string[] {
  const scopes = listScopes(service)
  return listGrants(service).flatMap(({ where, scope }) => {
    if (isAccountScope(scope)) {
      return [`${where}: ${scope} is an account scope; an operator grants it`]
    }
    // A route that follows `service({…})` can still declare it (`findUnusedGrants`).
    const isScope = scopes.has(scope) || isScopeName(scope)
    return isScope ? [] : [`${where}: ${scope.slice(0, SCOPE_NAME_MAX)} is not a scope`]
  })
}
