/** The groups of callers that take turns, and share by customer (decision 0084). */
import type { BudgetOwner } from './budget.ts'
import { createPlaces, type PlaceLimits, type TakePlace } from './places.ts'
import { customerNoOf, type Scope } from './principal.ts'
import { createShare, type Share, type ShareOptions } from './share.ts'
import { createMemberTurns, type TakeTurn, type TurnKey, type TurnOptions } from './turns.ts'

/** The keys and clients of a mode of a customer. */
export const backendGroup = (scope: Scope): string => `scope:${scope}`
/** The persons of a mode of a customer, who may be strangers. */
export const personGroup = (scope: Scope): string => `people:${scope}`
/** The jobs of a mode of a customer, which run own code. */
export const jobGroup = (scope: Scope): string => `jobs:${scope}`

/** Snapshots of lists of one group that wait at most; further ones are rejected with 503. */
export const LISTS_WAITING_MAX = 1_000

/** The key of all addresses without a credential: strangers have any number of them. */
export const STRANGERS = 'strangers'
const ADDRESS = 'address:'
/** The requests without a credential of an address block. */
export const addressGroup = (block: string): string => `${ADDRESS}${block}`

/** Returns the key by which a group has its part of a time: addresses have one together. */
export const shareKeyOf = <K extends TurnKey>(group: K): K | typeof STRANGERS =>
  String(group).startsWith(ADDRESS) ? STRANGERS : group

/** Returns a key of the customer of a group, by which its groups share; others have their own. */
export function customerOfGroup(group: TurnKey): TurnKey {
  const [, scope] = /^(?:scope|people|jobs):(\d+)$/.exec(String(group)) ?? []
  return scope === undefined
    ? shareKeyOf(group)
    : `customer:${customerNoOf(Number(scope) as Scope)}`
}

/** Returns a share of groups of callers. */
export function createGroupShare(options: ShareOptions): Share {
  const { note, addWork, restMs, isAlone } = createShare(options)
  return {
    note: (group) => note(shareKeyOf(group)),
    addWork: (group, workMs) => addWork(shareKeyOf(group), workMs),
    restMs: (group) => restMs(shareKeyOf(group)),
    isAlone: (group) => isAlone(shareKeyOf(group)),
  }
}

/** Returns places of groups of callers. */
export function createGroupPlaces(limits: PlaceLimits): TakePlace {
  const take = createPlaces(limits)
  return (group) => take(shareKeyOf(group))
}

/** Runs a body in the turn of its owner: callers of a group take turns, and groups do. */
export type TakeOwnerTurn = <T>(owner: BudgetOwner, body: () => Promise<T>) => Promise<T>

export function createOwnerTurns(slots: number, options: TurnOptions = {}): TakeOwnerTurn {
  const turns = createMemberTurns(slots, options)
  return ({ caller, group }, body) => turns(caller, shareKeyOf(group), body)
}

/**
 * Returns turns of groups of callers: those of one customer share its slots, as all addresses do,
 * and none of them fills its queue.
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
