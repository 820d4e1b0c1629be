/**
 * Names the values that each change of a row also stores: computed columns, and words of a search.
 * A process writes those of its declaration. Rows that another one has changed lack them, until
 * `row-repairs.ts` adds them. Pure.
 */
import { storedComputations } from './computed.ts'
import type { ResourceDefinition } from './resource.ts'
import { WORDS_RELEASE } from './search-index.ts'

/** `orders?title+note+1`: the searched fields, and the release of the rules of words. */
const wordDerivation = ({ name, search }: ResourceDefinition): string =>
  `${name}?${[...search, WORDS_RELEASE].join('+')}`

/** Returns the derivations of a resource: `orders.total`, `orders?…`. Names have no comma. */
export function derivationsOf(definition: ResourceDefinition): string[] {
  const { name, search } = definition
  const columns = storedComputations(definition).map((field) => `${name}.${field}`)
  return search.length > 0 ? [...columns, wordDerivation(definition)] : columns
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
