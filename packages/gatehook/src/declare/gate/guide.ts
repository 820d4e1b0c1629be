/** The sections of the guides that describe what to do about a break. Pure. */
import { EVENTS_POINTER } from './event-diff.ts'

/** The part of the promise that a break concerns, which decides its remedy. */
export type Concern = 'event' | 'scope' | 'rule' | 'shape'

export const concernOf = (where: string): Concern => {
  if (where === EVENTS_POINTER) return 'event'
  if (/\/x-(read-|write-)?scope$/.test(where)) return 'scope'
  return where === '#' ? 'rule' : 'shape'
}

/** The path of the page in the repository and in the package, with the anchor of its section. */
export const GUIDES: Readonly<Record<Concern, string>> = {
  event: 'docs/guides/versions.md#events-and-scopes',
  scope: 'docs/guides/versions.md#events-and-scopes',
  rule: 'docs/guides/versions.md#the-lock',
  shape: 'docs/guides/versions.md#three-versions-of-one-resource',
}
