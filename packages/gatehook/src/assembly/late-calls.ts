/**
 * The one late-bound interface of the app. A module calls each of these functions, and is created
 * before the module that implements it: an event needs deliveries, a delivery needs versions, a
 * version emits events.
 */

import type { ServiceEventTypes } from '../declare/resources/event-types.ts'
import type { RenderObject } from '../history/events/event.ts'
import type { People } from '../identity/people/people.ts'
import type { Tokens } from '../identity/tokens/api.ts'
import type { WakeDeliveries } from '../outbound/deliveries/wake-up.ts'

export interface LateCalls {
  /** Returns an object of an event as JSON text in the shape of a version. */
  readonly renderObject: RenderObject
  /** Returns the scopes that cover a type; undefined: no scope is required. */
  readonly coveredBy: ServiceEventTypes['coveredBy']
  /** Returns the version that serves registrations pinned to `version` now (§9.11). */
  livingVersion(version: string): string
  /** Wakes the delivery engine for registrations, by number, on this node or another. */
  readonly wakeDeliveries: WakeDeliveries
  readonly revokeSessionsOfPerson: Tokens['revokeSessionsOfPerson']
  /** Evicts a person whose row has changed from this node's cache. */
  evictPerson(id: number): void
  readonly findPerson: People['findPerson']
  readonly signOutEverywhere: People['signOutEverywhere']
}

/** Returns functions that throw until `bind` has received their implementations. */
export function createLateCalls(): LateCalls & { bind(implementations: LateCalls): void } {
  let bound: LateCalls | undefined
  const implementations = (): LateCalls => {
    if (!bound) throw new Error('A late-bound function was called before the app was composed')
    return bound
  }
  return {
    renderObject: (...event) => implementations().renderObject(...event),
    coveredBy: (...type) => implementations().coveredBy(...type),
    livingVersion: (version) => implementations().livingVersion(version),
    wakeDeliveries: (...wakeUp) => implementations().wakeDeliveries(...wakeUp),
    revokeSessionsOfPerson: (...subject) => implementations().revokeSessionsOfPerson(...subject),
    evictPerson: (id) => implementations().evictPerson(id),
    findPerson: (...person) => implementations().findPerson(...person),
    signOutEverywhere: (...person) => implementations().signOutEverywhere(...person),
    bind(functions) {
      bound = functions
    },
  }
}
