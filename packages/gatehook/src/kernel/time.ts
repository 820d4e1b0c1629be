/**
 * Instants on the wire: ISO 8601 with three decimals and `Z` (§6.5), in the years 0 to 9999. Years
 * have four digits in RFC 3339 §5.6. Pure.
 */

/** The first and the last instant that the wire has. */
const FIRST_INSTANT_MS = -62_167_219_200_000
export const LAST_INSTANT_MS = 253_402_300_799_999

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const padNumbers = (count: number, length: number, text: (digits: string) => string) =>
  Array.from({ length: count }, (_, n) => text(String(n).padStart(length, '0')))
const hours = padNumbers(24, 2, (digits) => digits)
const minutes = hours.flatMap((hour) => padNumbers(60, 2, (digits) => `${hour}:${digits}:`))
const seconds = padNumbers(60, 2, (digits) => `${digits}.`)
const millis = padNumbers(1000, 3, (digits) => `${digits}Z`)
/** A cache of formatted dates, by the number of the day modulo its size. */
const CACHED_DAYS = 64
const cachedDays = new Float64Array(CACHED_DAYS).fill(Number.NaN)
const cachedDates: string[] = new Array(CACHED_DAYS).fill('')

/** Returns a wait in whole seconds, as `Retry-After` has it: at least 1. */
export const retryAfterS = (waitMs: number): number => Math.max(1, Math.ceil(waitMs / 1000))

/** Whether a value is an instant in milliseconds that the wire has. */
export const isInstantMs = (value: unknown): boolean =>
  Number.isInteger(value) &&
  (value as number) >= FIRST_INSTANT_MS &&
  (value as number) <= LAST_INSTANT_MS

/**
 * Formats an instant, for example `2026-11-21T09:30:00.000Z`, from cached parts. Most rows of a
 * page share their day, and a `Date` for each row takes five times as long. A computed instant
 * outside the years 0 to 9999 becomes the first or the last one.
 */
export function isoTime(instantMs: number): string {
  const epochMs = Math.min(Math.max(instantMs, FIRST_INSTANT_MS), LAST_INSTANT_MS)
  const day = Math.floor(epochMs / DAY_MS)
  const at = Math.abs(day) % CACHED_DAYS
  if (cachedDays[at] !== day) {
    cachedDates[at] = new Date(day * DAY_MS).toISOString().slice(0, -13)
    cachedDays[at] = day
  }
  const rest = epochMs - day * DAY_MS
  const minute = Math.floor(rest / MINUTE_MS)
  const milli = rest - minute * MINUTE_MS
  const second = Math.floor(milli / 1000)
  return `${cachedDates[at]}${minutes[minute]}${seconds[second]}${millis[milli - second * 1000]}`
}

/** A date with an optional time of day; the eighth group is its UTC offset. */
const INSTANT = new RegExp(
  /^(\d{4})-(\d{2})-(\d{2})/.source +
    /(?:[Tt](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?([Zz]|[+-]\d{2}:\d{2}))?$/.source,
)

/**
 * Parses an RFC 3339 instant, or a date as midnight UTC.
 *
 * @returns Epoch milliseconds; undefined for any other text, for dates that do not exist, and for
 *   instants that are outside the years 0 to 9999 in UTC.
 */
export function parseTime(text: string): number | undefined {
  const match = INSTANT.exec(text)
  if (!match) return undefined
  const [, year, month, day] = match
  // `Date` accepts 31 February as 3 March, so compare its fields with the text. `Date.UTC` maps the
  // years 0 to 99 to 1900 to 1999.
  const midnight = new Date(0).setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  const date = new Date(midnight)
  if (date.getUTCDate() !== Number(day) || date.getUTCMonth() + 1 !== Number(month)) {
    return undefined
  }
  const ms = match[8] === undefined ? midnight : Date.parse(text.toUpperCase())
  return isInstantMs(ms) ? ms : undefined
}

/** Whether a valid instant is later than the milliseconds that `parseTime` returns. */
export const hasMoreThanMillis = (text: string): boolean => /\.\d{3}0*[1-9]/.test(text)
