/** Formats numbers, durations and times. Times are in UTC and say so where they are alone. */

const grouped = new Intl.NumberFormat('en')

/** `1,226` */
export const number = (value: number): string => grouped.format(value)

/** `1.24 M`, `35.1 k`, `812`: three digits. */
export function short(value: number): string {
  const units = [
    [1e9, ' G'],
    [1e6, ' M'],
    [1e4, ' k'],
  ] as const
  for (const [size, unit] of units) {
    if (Math.abs(value) >= size) {
      const base = unit === ' k' ? 1e3 : size
      return `${Number((value / base).toPrecision(3))}${unit}`
    }
  }
  return number(Number.isInteger(value) ? value : Number(value.toPrecision(3)))
}

/** `99.74 %` of a share between 0 and 1. */
export const percent = (share: number): string => {
  const value = share * 100
  const digits = value > 99 && value < 100 ? 2 : 1
  return `${Number(value.toFixed(digits))} %`
}

/** Milliseconds below 1 s, then seconds with one decimal: `31 ms`, `1.2 s`. */
export function duration(ms: number): string {
  if (ms > 0 && ms < 1) return '< 1 ms'
  if (ms < 1000) return `${Math.round(ms)} ms`
  return `${(ms / 1000).toFixed(1)} s`
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const

/** The two largest units of a period: `2 d 20 h`, `25 min 3 s`. */
export function period(ms: number): string {
  const at = UNITS.findIndex(([, size]) => ms >= size)
  const [unit, size] = UNITS[at] ?? UNITS[3]
  const next = UNITS[at + 1]
  const whole = Math.floor(ms / size)
  const rest = next && whole < 10 ? Math.floor((ms % size) / next[1]) : 0
  return rest > 0 ? `${whole} ${unit} ${rest} ${next![0]}` : `${whole} ${unit}`
}

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/** `30 Jun 2027` */
export function day(iso: string): string {
  const date = new Date(iso)
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`
}

/** `14:32:07` */
export const timeOfDay = (iso: string): string => new Date(iso).toISOString().slice(11, 19)

/** `24 Nov 2026, 14:32:07.412 UTC` */
export const instant = (iso: string): string =>
  `${day(iso)}, ${new Date(iso).toISOString().slice(11, 23).replace('.000', '')} UTC`

/** The time of day if the instant is on the day of `nowMs`, otherwise with its date. */
export function listTime(iso: string, nowMs: number): string {
  const isToday = new Date(nowMs).toISOString().slice(0, 10) === iso.slice(0, 10)
  return isToday ? timeOfDay(iso) : `${day(iso).slice(0, -5)} ${timeOfDay(iso)}`
}

/** `4 min ago` within an hour, otherwise as `listTime`. */
export function ago(iso: string, nowMs: number): string {
  const ms = nowMs - Date.parse(iso)
  if (ms < 0 || ms >= 3_600_000) return listTime(iso, nowMs)
  return ms < 1000 ? 'now' : `${period(ms).split(' ').slice(0, 2).join(' ')} ago`
}

/** `1 request`, `2 requests`. */
export const count = (value: number, noun: string, plural = `${noun}s`): string =>
  `${number(value)} ${value === 1 ? noun : plural}`

/** An instant for a query: seconds, without a fraction. */
export const isoSecond = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`
