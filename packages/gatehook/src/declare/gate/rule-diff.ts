/** Compares the rules of resources that their documents do not contain (§8.11). Pure. */
import { defaultLimits } from '../../protocol/http/exchange.ts'
import { breakFinding, type OperationFinding, type PartChange } from './finding.ts'
import type { VersionPromise } from './lock.ts'

/**
 * Compares all rules of a version. A limit of new fields rejects no existing caller.
 *
 * @param isReported whether another finding reports the end of an effect
 */
export function diffRules(
  { rules, fields }: VersionPromise,
  current: VersionPromise,
  isReported: (effect: string) => boolean,
): OperationFinding[] {
  return Object.entries(rules).flatMap(([resource, promised]) => {
    const { limits, effects, purgeAfterDays } = promised
    const now = current.rules[resource]
    if (!now) return [] // The paths of the resource are removed, which the documents show.
    const oldLimits = limits.map(({ sentence }) => sentence)
    const isPromised = (name: string) => Object.hasOwn(fields[resource] ?? {}, name)
    const newLimits = now.limits.filter(
      (limit) => !oldLimits.includes(limit.sentence) && limit.fields.every(isPromised),
    )
    const lostEffects = effects.filter(
      (effect) => !now.effects.includes(effect) && !isReported(effect),
    )
    return [
      ...newLimits.map(({ sentence }) =>
        ruleFinding(`${sentence}: this is new, and rejects requests that passed.`, [
          undefined,
          sentence,
        ]),
      ),
      ...lostEffects.map((effect) =>
        ruleFinding(`${effect}: this no longer holds, and callers rely on it.`, [
          effect,
          undefined,
        ]),
      ),
      ...purgeFindings(resource, purgeAfterDays, now.purgeAfterDays),
      ...sizeFindings(resource, promised.maxBodyBytes, now.maxBodyBytes),
    ]
  })
}

/** A resource without restores lacks their paths, which the documents show. */
function purgeFindings(
  resource: string,
  promisedDays: number | undefined,
  days: number | undefined,
): OperationFinding[] {
  if (promisedDays === undefined || days === undefined || days >= promisedDays) return []
  return [
    ruleFinding(
      `${resource}: deleted rows are purged after ${days} days instead of ${promisedDays}, and ` +
        'callers restore them until then.',
      [`${promisedDays} days`, `${days} days`],
    ),
  ]
}

function sizeFindings(
  resource: string,
  promised: number = defaultLimits.bodyBytes,
  bytes: number = defaultLimits.bodyBytes,
): OperationFinding[] {
  if (bytes >= promised) return []
  const sentence = `${resource}: bodies have at most ${bytes} bytes instead of ${promised}.`
  return [ruleFinding(sentence, [`${promised} bytes`, `${bytes} bytes`])]
}

const ruleFinding = (sentence: string, parts: PartChange): OperationFinding => ({
  ...breakFinding('#', sentence, parts),
  sentence,
  operations: [],
})
