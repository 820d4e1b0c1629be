/** Instants on the wire: ISO 8601 with three decimals and `Z` (decisions §6.5). Pure. */

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const padded = (count: number, length: number, text: (digits: string) => string) =>
  Array.from({ length: count }, (_, n) => text(String(n).padStart(length, '0')))
const hours = padded(24, 2, (digits) => digits)
const minutes = hours.flatMap((hour) => padded(60, 2, (digits) => `${hour}:${digits}:`))
const seconds = padded(60, 2, (digits) => `${digits}.`)
const millis = padded(1000, 3, (digits) => `${digits}Z`)
/** Dates of days seen lately, at the day's number modulo their count. */
const DAYS_KEPT = 64
const keptDays = new Float64Array(DAYS_KEPT).fill(Number.NaN)
const keptDates: string[] = new Array(DAYS_KEPT).fill('')

/**
 * `2026-11-21T09:30:00.000Z`, of parts that stand ready: rows of a page mostly share their day, and
 * a `Date` for each takes five times as long.
 */
export function isoTime(epochMs: number): string {
  const day = Math.floor(epochMs / DAY_MS)
  const at = Math.abs(day) % DAYS_KEPT
  if (keptDays[at] !== day) {
    keptDates[at] = new Date(day * DAY_MS).toISOString().slice(0, -13)
    keptDays[at] = day
  }
  const rest = epochMs - day * DAY_MS
  const minute = Math.floor(rest / MINUTE_MS)
  const milli = rest - minute * MINUTE_MS
  const second = Math.floor(milli / 1000)
  return `${keptDates[at]}${minutes[minute]}${seconds[second]}${millis[milli - second * 1000]}`
}

/** Day, and perhaps a time of day with its offset: the eighth group. */
const INSTANT = new RegExp(
  /^(\d{4})-(\d{2})-(\d{2})/.source +
    /(?:[Tt](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?([Zz]|[+-]\d{2}:\d{2}))?$/.source,
)

/** Epoch milliseconds of an RFC 3339 instant or plain date (midnight UTC), else undefined. */
export function parseTime(text: string): number | undefined {
  const match = INSTANT.exec(text)
  if (!match) return undefined
  const [, year, month, day] = match
  // Date rolls 31 February over to March, month 13 to January; ask it back what it understood.
  // `Date.UTC` takes the years 0 to 99 for those of the last century.
  const midnight = new Date(0).setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  const meant = new Date(midnight)
  if (meant.getUTCDate() !== Number(day) || meant.getUTCMonth() + 1 !== Number(month)) {
    return undefined
  }
  const ms = match[8] === undefined ? midnight : Date.parse(text.toUpperCase())
  return Number.isNaN(ms) ? undefined : ms
}
