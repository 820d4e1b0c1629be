/** The order in which resources are created: each follows those to which it refers. Pure. */
import { DeclarationError } from '../../protocol/fields/declaration-mistakes.ts'
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
    for (const spec of Object.values(resource.fields)) {
      const target = resources.find(({ name }) => name === spec.target)
      if (target && target !== resource) visit(target)
    }
    ordered.push(resource)
  }
  for (const resource of resources) visit(resource)
  return ordered
}
