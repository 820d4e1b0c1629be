/** Ranges of time in URLs: `range=24h` up to now, or `from` and `to` as instants. */
import { withQuery } from '../api.ts'
import { slowNow } from '../clock.ts'
import { instant, isoSecond, timeOfDay } from '../format.ts'
import { place, query, setQuery } from '../router.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** Ranges that end now follow the time in this step. */
const TICK_MS = 15_000

export const RANGES = {
  '15m': { ms: 15 * MINUTE_MS, label: '15 min' },
  '1h': { ms: HOUR_MS, label: '1 h' },
  '24h': { ms: DAY_MS, label: '24 h' },
  '7d': { ms: 7 * DAY_MS, label: '7 d' },
  '30d': { ms: 30 * DAY_MS, label: '30 d' },
} as const

export type RangeName = keyof typeof RANGES

export interface TimeRange {
  /** Undefined if the URL has two instants. */
  readonly name: RangeName | undefined
  readonly fromMs: number
  readonly toMs: number
  /** `from` and `to` of a request. */
  readonly words: { readonly from: string; readonly to: string | undefined }
}

const isRange = (text: string | null): text is RangeName => text !== null && text in RANGES

const INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?)?$/

/** Returns the time of a date, or of a date and a time; without an offset it is UTC. */
export function parseInstant(text: string | null): number {
  const [, time, offset] = INSTANT.exec(text ?? '') ?? []
  if (text === null || !INSTANT.test(text)) return Number.NaN
  return Date.parse(time !== undefined && offset === undefined ? `${text}Z` : text)
}

/** Returns the range of the URL, also of one instant. A range that ends now moves every 15 s. */
export function currentRange(fallback: RangeName): TimeRange {
  const text = query.value.get('range')
  const name = isRange(text) ? text : fallback
  const nowMs = Math.ceil(slowNow().value / TICK_MS) * TICK_MS
  const from = parseInstant(query.value.get('from'))
  const to = parseInstant(query.value.get('to'))
  if (!(Number.isNaN(from) && Number.isNaN(to))) {
    const toMs = Number.isNaN(to) ? nowMs : to
    const fromMs = Number.isNaN(from) ? toMs - RANGES[name].ms : from
    const words = { from: isoSecond(fromMs), to: isoSecond(toMs) }
    if (fromMs < toMs) return { name: undefined, fromMs, toMs, words }
  }
  const startMs = nowMs - RANGES[name].ms
  return {
    name,
    fromMs: startMs,
    toMs: nowMs,
    words: { from: isoSecond(startMs), to: undefined },
  }
}

/** `24 Nov 2026, 14:00:00 UTC to 24 Nov 2026, 14:30:00 UTC` */
export const rangeWords = ({ fromMs, toMs }: TimeRange): string =>
  [fromMs, toMs].map((ms) => instant(new Date(ms).toISOString())).join(' to ')

/** Selects a named range. */
export const selectRange = (name: RangeName): void =>
  setQuery({ range: name, from: undefined, to: undefined, cursor: undefined })

/** Selects the range that a reader has dragged over. */
export const selectInstants = (fromMs: number, toMs: number): void =>
  setQuery({
    range: undefined,
    from: isoSecond(fromMs),
    to: isoSecond(toMs),
    cursor: undefined,
  })

/** The URL of this view in which a range that ends now is two instants. */
export function lastingUrl({ name, fromMs, toMs }: TimeRange): string {
  const words = Object.fromEntries(place.value.query)
  const instants = { from: isoSecond(fromMs), to: isoSecond(toMs), range: undefined }
  return location.origin + withQuery(place.value.path, { ...words, ...(name && instants) })
}

const MONTH_DAY = new Intl.DateTimeFormat('en', {
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
})

/** Returns the words of a step: the time of day, or the day in long ranges. */
export function timeLabelOf({ fromMs, toMs }: TimeRange): (ms: number) => string {
  const length = toMs - fromMs
  if (length > 2 * DAY_MS) return (ms) => MONTH_DAY.format(ms)
  const hasSeconds = length < 10 * MINUTE_MS
  return (ms) => timeOfDay(new Date(ms).toISOString()).slice(0, hasSeconds ? 8 : 5)
}
