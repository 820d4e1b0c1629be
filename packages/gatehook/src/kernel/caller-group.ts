/** Names of the groups of callers that take turns (decision 0084). Pure. */
import { customerNoOf, type Scope } from './principal.ts'
import type { TurnKey } from './turns.ts'

/** The keys and clients of a mode of a customer. */
export const backendGroup = (scope: Scope): string => `scope:${scope}`
/** The persons of a mode of a customer, who may be strangers. */
export const personGroup = (scope: Scope): string => `people:${scope}`

/** Returns a key of the customer of a group, by which its groups share; others have their own. */
export function customerOfGroup(group: TurnKey): TurnKey {
  const [, scope] = /^(?:scope|people):(\d+)$/.exec(String(group)) ?? []
  return scope === undefined ? group : `customer:${customerNoOf(Number(scope) as Scope)}`
}
