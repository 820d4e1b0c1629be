/** The changes that await a caller of an older version, with an example of each resource. Pure. */
import type { Catalog } from '../../declare/resources/catalog.ts'
import type { ServiceEventTypes } from '../../declare/resources/event-types.ts'
import { changelogOf } from '../../declare/versions/changelog.ts'
import type { UpcomingChangeJson } from './data-operations.ts'

/** Returns the breaking changes after a version, oldest first. */
export function upcomingChanges(
  { service, versions, newest, render }: Catalog,
  { collections, sample }: ServiceEventTypes,
  version: string,
): UpcomingChangeJson[] {
  const later = versions.slice(versions.indexOf(version) + 1)
  const changes = changelogOf(service)
    .toReversed()
    .filter((entry) => later.includes(entry.version))
    .flatMap((entry) => entry.changes.map((change) => ({ ...change, version: entry.version })))
  return changes.map((change, at) => {
    const isFirst = changes.findIndex(({ resource }) => resource === change.resource) === at
    const [eventType] = [...collections].find(([, name]) => name === change.resource) ?? []
    return {
      ...change,
      before: [...change.before],
      after: [...change.after],
      example: isFirst && eventType !== undefined ? exampleOf(change.resource, eventType) : null,
    }
  })

  function exampleOf(resource: string, event_type: string) {
    const object = sample(event_type)
    const recorded = { type: event_type, collection: resource, object, shape: newest }
    const from = JSON.parse(render(recorded, version))
    return { event_type, from, to: JSON.parse(object) }
  }
}
