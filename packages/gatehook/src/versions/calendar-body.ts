/** The members of a calendar in JSON and in a declaration. Pure. */
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
const BROWNOUTS_MAX = 100

/** Reads an http or https URL. Its serialization cannot end the `<…>` of a `Link` header. */
const webUrl: Read<string> = (value, reject) => {
  const text = typeof value === 'string' && value.length <= URL_MAX ? value : ''
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol)) return url.href
  return reject('must be an http or https URL')
}

const brownout = object({ start: required(instant), end: required(instant) })

/** The members of §13. `null` removes an announcement. */
export const calendarMembers = {
  deprecated_at: optional(orNull(instant)),
  sunset_at: optional(orNull(instant)),
  successor: optional(orNull(line(20))),
  migration_guide: optional(orNull(webUrl)),
  sunset_link: optional(orNull(webUrl)),
  brownouts: optional(orNull(setOf(brownout, BROWNOUTS_MAX))),
}
