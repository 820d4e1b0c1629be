/** A time that is typed: `14:05`, `2026-11-23 14:05`, `2026-11-23T14:05Z`, a date. Pure. */
import { day, timeOfDay } from '../format.ts'
import { parseInstant } from './ranges.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** The requests before and after the minute. */
const AROUND_MS = 5 * MINUTE_MS

const TIME = /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?: ?(?:Z|UTC))?$/i
const DATE = /^\d{4}-\d\d-\d\d$/

export interface TypedTime {
  readonly label: string
  readonly fromMs: number
  readonly toMs: number
}

/** Returns the last instant at which it was this time of day. */
function lastTimeOfDay(text: string, nowMs: number): number {
  const [, hours, minutes, seconds = '0'] = TIME.exec(text) ?? []
  if (hours === undefined) return Number.NaN
  const ofDayMs = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000
  const ms = Math.floor(nowMs / DAY_MS) * DAY_MS + ofDayMs
  return ms > nowMs ? ms - DAY_MS : ms
}

/** Returns the range of a typed time; undefined for another text. */
export function typedTime(text: string, nowMs: number): TypedTime | undefined {
  const instant = text.replace(/ ?UTC$/i, 'Z').replace(/^(\d{4}-\d\d-\d\d) (?=\d)/, '$1T')
  const ms = TIME.test(text) ? lastTimeOfDay(text, nowMs) : parseInstant(instant.toUpperCase())
  if (Number.isNaN(ms)) return undefined
  const iso = new Date(ms).toISOString()
  if (DATE.test(text)) return { label: `Requests on ${day(iso)}`, fromMs: ms, toMs: ms + DAY_MS }
  return {
    label: `Requests around ${timeOfDay(iso).slice(0, 5)} UTC, ${day(iso)}`,
    fromMs: ms - AROUND_MS,
    toMs: ms + AROUND_MS,
  }
}
