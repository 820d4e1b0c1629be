/** The scopes that follow from a declaration (§3.6), and those a person has by default (§6.7). */
import { accountScopes, isAccountScope, isScopeName } from '../access/scopes.ts'
import { allScope, owningField } from './ownership.ts'
import type { Definition } from './resource.ts'
import type { RouteDefinition } from './route.ts'

/** The parts of a service that name scopes. */
export interface Declared {
  readonly resources: readonly Definition[]
  readonly routes: readonly RouteDefinition[]
  readonly externalEvents: readonly { readonly type: string; readonly scope?: string }[]
}

/** `access: { read: 'public' }`: anonymous callers read (§6.10). */
export const PUBLIC = 'public'

/** The scope that reading needs; undefined where it needs none. */
export const readScopeOf = ({ access }: Definition): string | undefined =>
  access.read === PUBLIC ? undefined : access.read

const writeScopesOf = ({ access }: Definition): string[] =>
  [access.create, access.update, access.delete].filter((scope) => scope !== false)

/** The scopes of a resource's own operations and actions. */
const declaredBy = (one: Definition): string[] => [
  ...[readScopeOf(one) ?? []].flat(),
  ...writeScopesOf(one),
  ...one.actions.map((action) => action.scope),
]

/** Every scope a credential can be granted (§3.6): resource scopes, then account scopes. */
export function scopesOf({ resources, routes, externalEvents }: Declared): Set<string> {
  const scopes = new Set<string>()
  for (const one of resources) {
    for (const scope of declaredBy(one)) scopes.add(scope)
    scopes.add(allScope(one.name))
  }
  for (const route of routes) scopes.add(route.scope)
  for (const { scope } of externalEvents) if (scope !== undefined) scopes.add(scope)
  for (const scope of Object.keys(accountScopes)) scopes.add(scope)
  return scopes
}

/**
 * The scopes of a person whom no operator gave any: those `.signsIn()` names, else read of the
 * sign-in resource, read and write of the resources that have an owner. Never an account scope.
 */
export function personScopesOf({ resources }: Declared): string[] {
  const named = resources.find((one) => one.signsIn)?.signsIn?.scopes
  if (named) return [...new Set(named)]
  const lifting = new Set(resources.map((one) => allScope(one.name)))
  const scopes = resources.flatMap((one) => {
    const read = [readScopeOf(one) ?? []].flat()
    if (one.signsIn) return read
    return owningField(one) === undefined ? [] : [...read, ...writeScopesOf(one)]
  })
  return [...new Set(scopes)].filter((scope) => !isAccountScope(scope) && !lifting.has(scope))
}

/** Sentences for the developer; empty where every scope has a name of §3.6. */
export function scopeMistakes(service: Declared): string[] {
  const wrong: string[] = []
  const name = (where: string, scope: string) => {
    if (scope === PUBLIC) wrong.push(`${where}: 'public' is for access.read only`)
    else if (!isScopeName(scope)) {
      wrong.push(`${where}: the scope "${scope}" is not of the form collection:write`)
    }
  }
  for (const one of service.resources) {
    const at = `resource ${one.name}`
    if (isAccountScope(`${one.name}:read`)) wrong.push(`${at}: the name is taken`)
    const { read, create, update, delete: remove } = one.access
    if (read !== PUBLIC) name(`${at}: access.read`, read)
    if (create !== false) name(`${at}: access.create`, create)
    if (update !== false) name(`${at}: access.update`, update)
    if (remove !== false) name(`${at}: access.delete`, remove)
    for (const action of one.actions) name(`${at}: action ${action.name}`, action.scope)
  }
  for (const { type, scope } of service.externalEvents) {
    if (scope !== undefined) name(`event ${type}`, scope)
  }
  for (const { method, path, scope } of service.routes) name(`route ${method} ${path}`, scope)
  return [...wrong, ...signInMistakes(service)]
}

function signInMistakes(service: Declared): string[] {
  const known = scopesOf(service)
  return service.resources.flatMap(({ name, signsIn }) =>
    (signsIn?.scopes ?? []).flatMap((scope) => {
      const at = `resource ${name}: .signsIn(): ${scope}`
      if (isAccountScope(scope)) return [`${at} is an account scope; an operator grants it`]
      // A route may still declare it: routes follow `service({…})`.
      return known.has(scope) || isScopeName(scope) ? [] : [`${at} is no scope`]
    }),
  )
}
