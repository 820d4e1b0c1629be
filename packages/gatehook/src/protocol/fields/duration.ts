/**
 * Durations of a fixed length: ISO 8601 in JSON (`PT1H30M`), milliseconds in rows and tables.
 * Months and years have no fixed length, so they are not accepted. Pure.
 */

const SECOND_MS = 1000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const WEEK_MS = 604_800_000

/** The longest duration has six digits of days. */
export const DURATION_MAX_MS = 1_000_000 * DAY_MS - 1

const TIME = /(?:(\d{1,8})H)?(?:(\d{1,9})M)?(?:(\d{1,11})(?:\.(\d{1,3}))?S)?/
const DURATION = new RegExp(`^P(?:(\\d{1,5})W|(?:(\\d{1,6})D)?(?:T${TIME.source})?)$`)

const SECONDS = '[0-9]{1,11}(\\.[0-9]{1,3})?S'
const MINUTES = `[0-9]{1,9}M(${SECONDS})?`
const TIME_PART = `T([0-9]{1,8}H(${MINUTES}|${SECONDS})?|${MINUTES}|${SECONDS})`
/** The pattern of the text for JSON Schema. */
export const DURATION_PATTERN = `^P([0-9]{1,5}W|[0-9]{1,6}D(${TIME_PART})?|${TIME_PART})$`

/** Returns milliseconds; undefined for text of another form. */
export function parseDuration(text: string): number | undefined {
  const match = DURATION.exec(text)
  if (!match || text.endsWith('P') || text.endsWith('T')) return undefined
  const [weeks, days, hours, minutes, seconds] = match.slice(1, 6).map((part) => Number(part ?? 0))
  const durationMs =
    weeks! * WEEK_MS +
    days! * DAY_MS +
    hours! * HOUR_MS +
    minutes! * MINUTE_MS +
    seconds! * SECOND_MS +
    Number((match[6] ?? '').padEnd(3, '0'))
  return durationMs <= DURATION_MAX_MS ? durationMs : undefined
}

/** Returns the shortest form: `P1DT2H` for 26 hours, `PT0S` for none. */
export function formatDuration(durationMs: number): string {
  const days = Math.floor(durationMs / DAY_MS)
  const hours = Math.floor((durationMs % DAY_MS) / HOUR_MS)
  const minutes = Math.floor((durationMs % HOUR_MS) / MINUTE_MS)
  const secondsMs = durationMs % MINUTE_MS
  const time = [
    hours > 0 && `${hours}H`,
    minutes > 0 && `${minutes}M`,
    secondsMs > 0 && `${secondsMs / SECOND_MS}S`,
  ].filter((part) => part !== false)
  const date = days > 0 ? `${days}D` : ''
  if (time.length === 0) return date === '' ? 'PT0S' : `P${date}`
  return `P${date}T${time.join('')}`
}
