/** A calendar as people write it: its members, and how each is read. Pure. */
import {
  instant,
  line,
  object,
  optional,
  orNull,
  type Read,
  required,
  setOf,
} from '../kernel/members.ts'

const URL_MAX = 2000
const MAX_BROWNOUTS = 100

/** An http or https URL, as the parser writes it: nothing in it can end a `<…>` of a header. */
const webUrl: Read<string> = (value, wrong) => {
  const text = typeof value === 'string' && value.length <= URL_MAX ? value : ''
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol)) return url.href
  return wrong('must be an http or https URL')
}

const brownout = object({ start: required(instant), end: required(instant) })

/** The members of §13; `null` takes back. */
export const calendarMembers = {
  deprecated_at: optional(orNull(instant)),
  sunset_at: optional(orNull(instant)),
  successor: optional(orNull(line(20))),
  migration_guide: optional(orNull(webUrl)),
  sunset_link: optional(orNull(webUrl)),
  brownouts: optional(orNull(setOf(brownout, MAX_BROWNOUTS))),
}
