/** The groups of callers that take turns, and share by customer (decision 0084). */
import { customerNoOf, type Scope } from './principal.ts'
import { createMemberTurns, type TakeTurn, type TurnKey, type TurnOptions } from './turns.ts'

/** The keys and clients of a mode of a customer. */
export const backendGroup = (scope: Scope): string => `scope:${scope}`
/** The persons of a mode of a customer, who may be strangers. */
export const personGroup = (scope: Scope): string => `people:${scope}`
/** The jobs of a mode of a customer, which run own code. */
export const jobGroup = (scope: Scope): string => `jobs:${scope}`

/** Snapshots of lists of one group that wait at most; further ones are rejected with 503. */
export const LISTS_WAITING_MAX = 1_000

/** Returns a key of the customer of a group, by which its groups share; others have their own. */
export function customerOfGroup(group: TurnKey): TurnKey {
  const [, scope] = /^(?:scope|people|jobs):(\d+)$/.exec(String(group)) ?? []
  return scope === undefined ? group : `customer:${customerNoOf(Number(scope) as Scope)}`
}

/**
 * Returns turns of groups of callers: those of one customer share its slots, and none of them fills
 * its queue.
 */
export function createGroupTurns(slots: number, options: TurnOptions = {}): TakeTurn {
  const turns = createMemberTurns(slots, options)
  const take = <T>(group: TurnKey, body: () => Promise<T>): Promise<T> =>
    turns(group, customerOfGroup(group), body)
  return Object.assign(take, {
    refuseIfFull: (group: TurnKey) => turns.refuseIfFull(group, customerOfGroup(group)),
    waitingCount: turns.waitingCount,
  })
}
