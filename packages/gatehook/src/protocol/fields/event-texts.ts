/** Which fields are too large for events (§15.10). Pure. */
import { fieldKindOf } from './kinds/table.ts'
import type { MemberSpec } from './spec.ts'

/** The longest text of an event, in characters. */
export const EVENT_TEXT_MAX = 65_536

/** Returns whether a field can have a longer text, or follows from one: then no event has it. */
export const exceedsEvents = (spec: MemberSpec): boolean =>
  spec.isAbsentFromEvents === true ||
  (fieldKindOf(spec).isText === true && (spec.max ?? 0) > EVENT_TEXT_MAX) ||
  [...Object.values(spec.members ?? {}), spec.items].some((inner) => inner && exceedsEvents(inner))
