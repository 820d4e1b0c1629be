/** The resources with an API. Own code alone uses the others: `access: false` (§15.1). Pure. */
import { withoutApi } from './api-options.ts'
import type { ResourceDefinition } from './resource.ts'
import type { Access } from './resource-options.ts'

export interface ApiResource extends ResourceDefinition {
  readonly access: Access
}

export const hasApi = (definition: ResourceDefinition): definition is ApiResource =>
  definition.access !== false

export const withApi = (resources: readonly ResourceDefinition[]): ApiResource[] =>
  resources.filter(hasApi)

/** Says why no document and no event has the rows. */
export const ownCodeAlone = ({ name }: Pick<ResourceDefinition, 'name'>): string =>
  `own code alone uses ${name} (access: false)`

/** Returns a sentence for the developer per word that a resource without an API cannot have. */
export function findWordsOfApi(resource: ResourceDefinition): string[] {
  if (hasApi(resource)) return []
  const { fields, actions, changes, editable, links, signsIn } = resource
  const rights = Object.entries(fields).flatMap(([name, { visibleTo, writableBy }]) => [
    ...(visibleTo === undefined ? [] : [withoutApi(`${name}: .visible()`, 'omit it')]),
    ...(writableBy === undefined ? [] : [withoutApi(`${name}: .writable()`, 'omit it')]),
  ])
  const ofActions = actions.flatMap(({ name, scope, emits, mcp }) => [
    ...(scope === false ? [] : [withoutApi(`.action(${name})`, 'declare scope: false')]),
    ...(emits === undefined ? [] : [withoutApi(`.action(${name}): emits`, 'omit it')]),
    ...(mcp === undefined ? [] : [withoutApi(`.action(${name}): mcp`, 'omit it')]),
  ])
  const calls = [
    ...changes.map(({ version }) => `.before('${version}')`),
    ...(editable.length > 0 ? ['.editable()'] : []),
    ...(links ? ['.links()'] : []),
    ...(signsIn ? ['.signsIn()'] : []),
  ]
  return [...rights, ...ofActions, ...calls.map((call) => withoutApi(call))]
}
