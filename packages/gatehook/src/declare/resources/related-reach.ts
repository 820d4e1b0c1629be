/**
 * The rows and fields of other resources that a caller reaches by the filters and sorts of a list
 * (§15.9). Pure.
 */
import { holdsScope } from '../../identity/access/scopes.ts'
import type { Call } from '../../protocol/http/call.ts'
import type { Collection } from '../../protocol/lists/collection.ts'
import type { RowScope } from '../../protocol/lists/page.ts'
import { reachesResource } from './agent-reach.ts'
import type { ApiEntry } from './catalog-entry.ts'
import type { RowReach } from './ownership.ts'
import { PUBLIC } from './scopes.ts'

/** The part of a caller on which related fields depend. */
interface RelatedCaller {
  /** Returns the rows of a resource that the caller reaches; undefined for none. */
  readonly reachOf: (resource: string) => Pick<RowScope, 'owner'> | undefined
  /** Returns the fields of the newest version that the caller does not see. */
  readonly hiddenIn: (resource: string) => ReadonlySet<string>
}

/** Returns the caller of a request: it reads rows of other resources with their scopes only. */
export function requestCaller(
  entries: ReadonlyMap<string, ApiEntry>,
  { principal, version }: Pick<Call, 'principal' | 'version'>,
  { refersTo }: Pick<RowReach, 'refersTo'>,
): RelatedCaller {
  const all = { owner: undefined }
  return {
    hiddenIn: (resource) =>
      entries.get(resource)!.shapes.get(version!)!.as(principal).hiddenColumns,
    reachOf(resource) {
      const { definition } = entries.get(resource)!
      const { read } = definition.access
      const isReadable = read === PUBLIC || (principal && holdsScope(principal, read))
      if (!isReadable || (principal?.isAgent && !reachesResource(definition))) return undefined
      return refersTo ? refersTo(resource) : all
    },
  }
}

/** Returns own code, which sees every field and requires no scope. */
export const ownCaller = ({ refersTo }: Pick<RowReach, 'refersTo'>): RelatedCaller => ({
  hiddenIn: () => new Set(),
  reachOf: (resource) => (refersTo ? refersTo(resource) : { owner: undefined }),
})

/**
 * Returns the collection as a caller lists it: without the related fields that it does not see, and
 * with the rows of other resources that it reaches.
 */
export function relatedCollection(
  collection: Collection,
  resource: string,
  { reachOf, hiddenIn }: RelatedCaller,
): Collection {
  const columns = collection.columns.filter(({ related }) => related)
  if (columns.length === 0) return collection
  const hidden = new Set<string>()
  const limits: Record<string, 'all' | 'own' | 'none'> = {}
  let person: number | undefined
  for (const { name, related } of columns) {
    let from = resource
    for (const step of related!.steps) {
      if (hiddenIn(from).has(step.reference)) hidden.add(name)
      from = step.resource
      const reach = reachOf(from)
      limits[from] = !reach ? 'none' : reach.owner === undefined ? 'all' : 'own'
      person ??= reach?.owner
    }
    if (hiddenIn(from).has(related!.column)) hidden.add(name)
  }
  const key = JSON.stringify([limits, person, [...hidden]])
  const visible = (names: readonly string[]) => names.filter((name) => !hidden.has(name))
  return {
    ...collection,
    filter: visible(collection.filter),
    sort: visible(collection.sort),
    relatedReach: { key, limits, person },
  }
}
