/**
 * Finds mistakes in the ids of a declaration: prefixes that two resources share, and references
 * that do not have the kind of the ids to which they refer. Pure.
 */
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import { hasApi, ownCodeAlone } from './api-resources.ts'
import { declaredInput, specsOfEveryVersion } from './body-versions.ts'
import { innerReferencesOf } from './inner-references.ts'
import type { JobDefinition } from './job.ts'
import type { OwnEventDefinition } from './own-event.ts'
import type { ResourceDefinition } from './resource.ts'
import type { RouteDefinition } from './route.ts'

const prefixOf = ({ fields }: Pick<ResourceDefinition, 'fields'>): string | undefined =>
  fields.id!.idPrefix

/** Returns a sentence per prefix that two resources have. */
export function findPrefixMistakes(resources: readonly ResourceDefinition[]): string[] {
  const nameByPrefix = new Map<string, string>()
  return resources.flatMap((resource) => {
    const prefix = prefixOf(resource)
    if (prefix === undefined) return []
    const other = nameByPrefix.get(prefix)
    nameByPrefix.set(prefix, resource.name)
    if (other === undefined || other === resource.name) return []
    return [`${other} and ${resource.name} have f.id('${prefix}'); each needs its own prefix`]
  })
}

/** Returns a sentence for the developer per mistake in the ids of a resource. */
export function findIdMistakes(
  resource: ResourceDefinition,
  resources: readonly ResourceDefinition[],
): string[] {
  const { fields, changes, actions, signsIn } = resource
  const inputs: readonly FieldSpecs[] = [
    fields,
    ...changes.map(({ had }) => had as FieldSpecs),
    ...actions.flatMap((action) => specsOfEveryVersion(declaredInput(action))),
  ]
  const mistakes = inputs.flatMap((specs) => [
    ...findReferenceMistakes(specs, resources),
    ...(hasApi(resource) ? findHiddenTargets(specs, resources) : []),
  ])
  if (signsIn && prefixOf(resource) !== undefined) {
    mistakes.push('id: tokens name a person by an integer; rows that sign in have the id f.id()')
  }
  return mistakes
}

/** Returns a sentence per reference to a resource that the service lacks. */
export const findMissingTargets = (
  specs: Readonly<Record<string, FieldSpec | undefined>>,
  resources: readonly ResourceDefinition[],
): string[] =>
  Object.entries(specs).flatMap(([name, spec]) =>
    (spec ? [{ path: name, spec }, ...innerReferencesOf({ [name]: spec })] : [])
      .filter(({ spec: { kind } }) => kind === 'ref')
      .filter(({ spec: { target } }) => resources.every((resource) => resource.name !== target))
      .map(({ path, spec: { target } }) => `${path}: there is no resource ${target}`),
  )

/** Returns a sentence per reference in routes, events and the inputs of jobs. */
export function findInputIdMistakes(service: InputDeclarations): string[] {
  const { resources, routes, jobs, events, externalEvents } = service
  const ofRoutes = (parts: (route: InputDeclarations['routes'][number]) => RoutePart[]) =>
    routes.flatMap((route) =>
      parts(route)
        .flatMap(specsOfEveryVersion)
        .map((specs) => [`route ${String(route.method)} ${String(route.path)}`, specs] as const),
    )
  const inputs = ofRoutes(({ query, input }) => [query, input])
  const ofJobs = jobs.map(({ name, input }) => [`.job ${String(name)}`, input] as const)
  const ofEvents = [...events, ...externalEvents.flatMap(({ event }) => event ?? [])].flatMap(
    ({ type, fields }) =>
      specsOfEveryVersion(fields).map((specs) => [`event ${type}`, specs] as const),
  )
  const publicParts = [...inputs, ...ofRoutes(({ output }) => [output]), ...ofEvents]
  return [
    ...[...inputs, ...ofJobs].flatMap(([where, specs]) =>
      findReferenceMistakes(specs, resources).map((mistake) => `${where}: ${mistake}`),
    ),
    ...[...publicParts, ...ofJobs].flatMap(([where, specs]) =>
      findMissingTargets(specs, resources).map((mistake) => `${where}: ${mistake}`),
    ),
    ...publicParts.flatMap(([where, specs]) =>
      findHiddenTargets(specs, resources).map((mistake) => `${where}: ${mistake}`),
    ),
  ]
}

/** Reports references of callers to rows that own code alone uses (§15.1). */
const findHiddenTargets = (
  specs: Readonly<Record<string, FieldSpec | undefined>>,
  resources: readonly ResourceDefinition[],
): string[] =>
  Object.entries(specs).flatMap(([name, spec]) =>
    spec ? hiddenTargetsIn(name, spec, resources) : [],
  )

function hiddenTargetsIn(
  path: string,
  { target: name, members, items }: Pick<FieldSpec, 'target' | 'members' | 'items'>,
  resources: readonly ResourceDefinition[],
): string[] {
  const inMembers = Object.entries((members ?? {}) as FieldSpecs).flatMap(([member, spec]) =>
    hiddenTargetsIn(`${path}.${member}`, spec, resources),
  )
  const inItems = items ? hiddenTargetsIn(path, items as FieldSpec, resources) : []
  const target = resources.find((resource) => resource.name === name)
  const isHidden = target && !hasApi(target)
  return [
    ...(isHidden
      ? [`${path}: ${ownCodeAlone(target)}, and callers have its ids; refer from it instead`]
      : []),
    ...inMembers,
    ...inItems,
  ]
}

interface InputDeclarations {
  readonly resources: readonly ResourceDefinition[]
  readonly routes: readonly RouteDefinition[]
  readonly jobs: readonly Pick<JobDefinition, 'name' | 'input'>[]
  readonly events: readonly OwnEventDefinition[]
  readonly externalEvents: readonly { readonly event?: OwnEventDefinition | undefined }[]
}

type RoutePart = RouteDefinition['query' | 'input' | 'output']

/** Plain JavaScript can declare members that are no fields; `route-check.ts` reports them. */
const findReferenceMistakes = (
  specs: Readonly<Record<string, FieldSpec | undefined>>,
  resources: readonly ResourceDefinition[],
): string[] =>
  Object.entries(specs).flatMap(([name, spec]) =>
    spec ? findReferenceMistake(name, spec, resources) : [],
  )

function findReferenceMistake(
  name: string,
  spec: FieldSpec,
  resources: readonly ResourceDefinition[],
): string[] {
  const { kind, target: targetName, idPrefix, members, items } = spec
  const inner = [
    ...findReferenceMistakes((members ?? {}) as FieldSpecs, resources),
    ...(items ? findReferenceMistake('item', items as FieldSpec, resources) : []),
  ]
  if (inner.length > 0) return inner.map((mistake) => `${name}.${mistake}`)
  const target = resources.find((resource) => resource.name === targetName)
  if (kind !== 'ref' || !target || prefixOf(target) === idPrefix) return []
  const prefix = prefixOf(target)
  const ids = prefix === undefined ? 'are integers' : `begin with ${prefix}_`
  const call =
    prefix === undefined ? `f.ref('${targetName}')` : `f.ref('${targetName}', '${prefix}')`
  return [`${name}: the ids of ${targetName} ${ids}; write ${call}`]
}
