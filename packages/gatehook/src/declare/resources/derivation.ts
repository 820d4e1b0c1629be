/**
 * Names the values that each change of a row also stores: computed columns, and words of a search.
 * A process writes those of its declaration. Rows that another one has changed lack them, until
 * `row-repairs.ts` adds them. Pure.
 */
import { storedComputations } from './computed.ts'
import type { ResourceDefinition } from './resource.ts'
import { hasWords, WORDS_RELEASE, wordSources } from './search-index.ts'

/** `orders?title+note+1`: the sources of the words, and the release of their rules. */
const wordDerivation = (definition: ResourceDefinition): string =>
  `${definition.name}?${[...wordSources(definition).names, WORDS_RELEASE].join('+')}`

/** Returns the derivations of a resource: `orders.total`, `orders?…`. Names have no comma. */
export function derivationsOf(definition: ResourceDefinition): string[] {
  const columns = storedComputations(definition).map((field) => `${definition.name}.${field}`)
  return hasWords(definition) ? [...columns, wordDerivation(definition)] : columns
}

/** Returns the derivations that a process with the declaration writes. */
export const listDerivations = ({
  resources,
}: {
  readonly resources: readonly ResourceDefinition[]
}): string[] => resources.flatMap(derivationsOf)

/** Returns the column of a derivation; undefined for words. */
export const columnOfDerivation = (derivation: string): string | undefined =>
  derivation.includes('?') ? undefined : derivation.slice(derivation.indexOf('.') + 1)
