/** The order in which resources are created: each follows those to which it refers. Pure. */
import { DeclarationError } from '../../protocol/fields/declaration-mistakes.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { innerReferencesOf } from './inner-references.ts'
import type { ResourceDefinition } from './resource.ts'

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
    for (const target of targetsOf(Object.values(resource.fields), resources)) {
      if (target !== resource) visit(target)
    }
    // A reference inside a value is no constraint of a table, so that a circle is allowed.
    for (const target of innerTargetsOf(resource, resources)) {
      if (!leadsTo(target, resource, resources)) visit(target)
    }
    ordered.push(resource)
  }
  for (const resource of resources) visit(resource)
  return ordered
}

const targetsOf = (specs: readonly FieldSpec[], resources: readonly ResourceDefinition[]) =>
  specs.flatMap(({ target }) => resources.find(({ name }) => name === target) ?? [])

const innerTargetsOf = ({ fields }: ResourceDefinition, resources: readonly ResourceDefinition[]) =>
  targetsOf(
    innerReferencesOf(fields).map(({ spec }) => spec),
    resources,
  )

/** Returns whether references of any kind lead from a resource to another one, or to itself. */
function leadsTo(
  from: ResourceDefinition,
  to: ResourceDefinition,
  resources: readonly ResourceDefinition[],
  visited = new Set<ResourceDefinition>(),
): boolean {
  if (from === to) return true
  if (visited.has(from)) return false
  visited.add(from)
  return [
    ...targetsOf(Object.values(from.fields), resources),
    ...innerTargetsOf(from, resources),
  ].some((target) => leadsTo(target, to, resources, visited))
}
