/** Instants on the wire: ISO 8601 with three decimals and `Z` (decisions §6.5). Pure. */

const DAY_MS = 86_400_000
const pad2 = Array.from({ length: 100 }, (_, n) => String(n).padStart(2, '0'))
const pad3 = Array.from({ length: 1000 }, (_, n) => String(n).padStart(3, '0'))
/** Dates of days seen lately, at the day's number modulo their count. */
const DAYS_KEPT = 64
const keptDays = new Float64Array(DAYS_KEPT).fill(Number.NaN)
const keptDates: string[] = new Array(DAYS_KEPT).fill('')

/**
 * `2026-11-21T09:30:00.000Z`. Days are kept from call to call: rows of a page mostly share theirs,
 * and what is left is three divisions instead of a `Date` (a quarter of the time).
 */
export function isoTime(epochMs: number): string {
  const day = Math.floor(epochMs / DAY_MS)
  const at = Math.abs(day) % DAYS_KEPT
  if (keptDays[at] !== day) {
    keptDates[at] = new Date(day * DAY_MS).toISOString().slice(0, -13)
    keptDays[at] = day
  }
  const rest = epochMs - day * DAY_MS
  const seconds = Math.floor(rest / 1000)
  const [hour, minute] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  const clock = `${pad2[hour]}:${pad2[minute]}:${pad2[seconds % 60]}`
  return `${keptDates[at]}${clock}.${pad3[rest % 1000]}Z`
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
