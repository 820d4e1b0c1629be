/**
 * Compares what a service promises besides its resources: the media type of a version, and the
 * event types that no resource emits, with the scopes that read them. Pure.
 */
import type { OperationFinding } from './finding.ts'
import type { VersionPromise } from './lock.ts'

/** @param version the version of both promises, `v1` */
export const diffService = (
  version: string,
  promised: VersionPromise,
  current: VersionPromise,
): OperationFinding[] => [
  ...vendorFindings(version, promised.vendor, current.vendor),
  ...eventFindings(promised, current),
]

const vendorFindings = (
  version: string,
  promised: string | undefined,
  current: string | undefined,
): OperationFinding[] =>
  promised === undefined || promised === current
    ? []
    : [
        breakAt(
          '#',
          `application/vnd.${promised}.api.${version}+json is no longer a media type: requests ` +
            'that send or accept it are rejected.',
        ),
      ]

/** Returns the breaks of subscribers. The types that resources emit are in `rule-diff.ts`. */
function eventFindings(promised: VersionPromise, current: VersionPromise): OperationFinding[] {
  const { externalEvents = {}, rules = {} } = current
  const effects = Object.values(rules).flatMap((rule) => rule.effects)
  return Object.entries(promised.externalEvents ?? {}).flatMap(([type, oldScope]) => {
    const newScope = externalEvents[type]
    if (newScope === oldScope) return []
    if (newScope !== undefined) {
      const sentence =
        `The event ${type} needs the scope ${newScope} instead of ${oldScope}: existing ` +
        'credentials lack it.'
      return [breakAt('#/webhooks', sentence)]
    }
    if (effects.some((effect) => effect.endsWith(`: emits the event ${type}`))) return []
    return [
      breakAt('#/webhooks', `The event ${type} is removed: subscribers no longer receive it.`),
    ]
  })
}

const breakAt = (where: string, sentence: string): OperationFinding => ({
  breaking: true,
  where,
  sentence,
  operations: [],
})
