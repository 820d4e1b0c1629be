/** The time axis up to the end of a version: its days, and states as bands. Pure. */
import { day } from '../../format.ts'
import type { Tone } from '../../parts/state.tsx'
import type { VersionDetail } from './version-shapes.ts'

export const DAY_MS = 86_400_000
const PAST_DAYS = 84
/** The axis is not longer. */
const AHEAD_DAYS_MAX = 800
/** The axis of a version that has no end yet. */
const AHEAD_DAYS_WITHOUT_END = 90
/** The part of the axis that is after the end. */
const MARGIN_SHARE = 0.1

export interface TimeAxis {
  readonly fromMs: number
  readonly toMs: number
}

const startOfDay = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS

/** Returns the axis of a deprecated version: twelve weeks of the past, and up to its end. */
export function axisTo({ sunset_at: end }: VersionDetail, nowMs: number): TimeAxis {
  const todayMs = startOfDay(nowMs)
  const fromMs = todayMs - PAST_DAYS * DAY_MS
  const lastMs = todayMs + AHEAD_DAYS_MAX * DAY_MS
  if (end === null) return { fromMs, toMs: todayMs + AHEAD_DAYS_WITHOUT_END * DAY_MS }
  const endMs = Math.max(Date.parse(end), todayMs + DAY_MS)
  const marginMs = Math.ceil(((endMs - fromMs) * MARGIN_SHARE) / DAY_MS) * DAY_MS
  return { fromMs, toMs: Math.min(startOfDay(endMs) + marginMs, lastMs) }
}

/** Returns the start of each day of an axis. */
export const daysOf = ({ fromMs, toMs }: TimeAxis): readonly number[] =>
  Array.from({ length: Math.round((toMs - fromMs) / DAY_MS) + 1 }, (_, n) => fromMs + n * DAY_MS)

/** A state of a version on the axis, as shares of its length. */
export interface LaneBand {
  readonly tone: Tone
  readonly label: string
  /** At the end of the band: the days of brownouts. */
  readonly note?: string
  readonly left: number
  readonly width: number
}

const BROWNOUTS_NAMED = 3

function brownoutNote({ brownouts }: VersionDetail): string | undefined {
  if (brownouts.length === 0) return undefined
  if (brownouts.length > BROWNOUTS_NAMED) return `${brownouts.length} brownouts`
  const days = brownouts.map(({ start }) => day(start).slice(0, -5)).join(', ')
  return `${brownouts.length === 1 ? 'brownout' : 'brownouts'} ${days}`
}

/** Returns the states of a version in the order of time, and its brownouts above them. */
export function bandsOf(row: VersionDetail, axis: TimeAxis): readonly LaneBand[] {
  const { released, deprecated_at: deprecatedAt, sunset_at: sunsetAt, brownouts } = row
  const msOf = (at: string | null) => (at === null ? Number.POSITIVE_INFINITY : Date.parse(at))
  const [releaseMs, sunsetMs] = [msOf(released), msOf(sunsetAt)]
  const deprecationMs = Math.min(msOf(deprecatedAt), sunsetMs)
  const supported = sunsetAt === null && deprecatedAt === null ? ', no end announced' : ''
  const note = brownoutNote(row)
  const length = axis.toMs - axis.fromMs
  const band = (fromMs: number, toMs: number, words: Omit<LaneBand, 'left' | 'width'>) => {
    const [start, end] = [Math.max(fromMs, axis.fromMs), Math.min(toMs, axis.toMs)]
    if (!(end > start)) return []
    return [{ ...words, left: (start - axis.fromMs) / length, width: (end - start) / length }]
  }
  return [
    ...band(releaseMs, deprecationMs, { tone: 'ok', label: `supported${supported}` }),
    ...band(deprecationMs, sunsetMs, { tone: 'warn', label: 'deprecated', ...(note && { note }) }),
    ...band(sunsetMs, Number.POSITIVE_INFINITY, { tone: 'bad', label: '410' }),
    ...brownouts.flatMap(({ start, end }) =>
      band(Date.parse(start), Date.parse(end), { tone: 'hold', label: '' }),
    ),
  ]
}
