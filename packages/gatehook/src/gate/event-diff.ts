/** Compares the event types that no resource emits, and the scopes that read them. Pure. */
import type { OperationFinding } from './finding.ts'
import type { VersionPromise } from './lock.ts'

/** Returns the breaks of subscribers. The types that resources emit are in `rule-diff.ts`. */
export function diffEvents(promised: VersionPromise, current: VersionPromise): OperationFinding[] {
  const { externalEvents = {}, rules = {} } = current
  const effects = Object.values(rules).flatMap((rule) => rule.effects)
  return Object.entries(promised.externalEvents ?? {}).flatMap(([type, oldScope]) => {
    const newScope = externalEvents[type]
    if (newScope === oldScope) return []
    if (newScope !== undefined) {
      return [
        eventFinding(
          `The event ${type} needs the scope ${newScope} instead of ${oldScope}: existing ` +
            'credentials lack it.',
        ),
      ]
    }
    if (effects.some((effect) => effect.endsWith(`: emits the event ${type}`))) return []
    return [eventFinding(`The event ${type} is removed: subscribers no longer receive it.`)]
  })
}

const eventFinding = (sentence: string): OperationFinding => ({
  breaking: true,
  where: '#/webhooks',
  sentence,
  operations: [],
})
