/**
 * A summary of an endpoint's attempts: the last 60 outcomes and the counts of 24 hours. The engine
 * keeps it in memory and stores it in one row, so that lists of endpoints read no deliveries. Pure.
 */

/** The states of an endpoint, the best first. Their positions are stored, to sort by. */
export const HEALTH_STATES = ['off', 'new', 'healthy', 'some_fail', 'slow', 'failing'] as const

export type HealthState = (typeof HEALTH_STATES)[number]

export const healthRank = (state: HealthState): number => HEALTH_STATES.indexOf(state)

/** One attempt: `o` accepted, `w` accepted at a retry, `s` accepted slowly, `x` failed. */
export const OUTCOME_MARKS = ['o', 'w', 's', 'x'] as const

export type OutcomeMark = (typeof OUTCOME_MARKS)[number]

/** As stored. */
export interface StoredSummary {
  /** Marks of the last attempts, oldest first. */
  readonly marks: string
  /** JSON: `[hour since 1970, accepted, failed]` of each hour with attempts, oldest first. */
  readonly hours: string
}

type HourCounts = [hour: number, accepted: number, failed: number]

const HOUR_MS = 3_600_000
const MARKS_MAX = 60
const HOURS_MAX = 24
/** An accepted attempt that took this long is slow. */
const SLOW_MS = 2_000
/**
 * An endpoint is failing if this share of so many last attempts failed, and the last one. It is
 * slow if this share was slow or failed, and most of them were slow.
 */
const RECENT_MARKS = 20
const RECENT_MIN = 3
const STATE_SHARE = 0.7

/** @param inRound the number of the attempt in its round, from 1 */
export function markOf(isDelivered: boolean, inRound: number, durationMs: number): OutcomeMark {
  if (!isDelivered) return 'x'
  if (durationMs >= SLOW_MS) return 's'
  return inRound > 1 ? 'w' : 'o'
}

/** Returns the state of an active endpoint with these marks. */
export function healthStateOf(marks: string): Exclude<HealthState, 'off'> {
  if (marks === '') return 'new'
  const recent = marks.slice(-RECENT_MARKS)
  const count = (mark: OutcomeMark) => recent.split(mark).length - 1
  const [failed, slow] = [count('x'), count('s')]
  const isMost = (total: number) =>
    recent.length >= RECENT_MIN && total >= recent.length * STATE_SHARE
  if (recent.endsWith('x') && isMost(failed)) return 'failing'
  if (slow > failed && isMost(slow + failed)) return 'slow'
  return marks.includes('x') ? 'some_fail' : 'healthy'
}

/** Returns the attempts of the last 24 hours, to the hour. */
export function countLastDay(
  stored: Pick<StoredSummary, 'hours'>,
  now: number,
): { readonly accepted: number; readonly failed: number } {
  const from = Math.floor(now / HOUR_MS) - HOURS_MAX
  let accepted = 0
  let failed = 0
  for (const [hour, hourAccepted, hourFailed] of JSON.parse(stored.hours) as HourCounts[]) {
    if (hour <= from) continue
    accepted += hourAccepted
    failed += hourFailed
  }
  return { accepted, failed }
}

export class OutcomeSummary {
  #marks: string
  #hours: HourCounts[]

  constructor(stored: StoredSummary | undefined) {
    this.#marks = stored?.marks ?? ''
    this.#hours = stored ? JSON.parse(stored.hours) : []
  }

  add(mark: OutcomeMark, now: number): void {
    this.#marks = (this.#marks + mark).slice(-MARKS_MAX)
    const hour = Math.floor(now / HOUR_MS)
    let counts = this.#hours.at(-1)
    // A clock that was set back counts into the newest hour.
    if (!counts || counts[0] < hour) this.#hours.push((counts = [hour, 0, 0]))
    counts[mark === 'x' ? 2 : 1] += 1
    if (this.#hours.length > HOURS_MAX) this.#hours.shift()
  }

  get stored(): StoredSummary {
    return { marks: this.#marks, hours: JSON.stringify(this.#hours) }
  }

  get state(): Exclude<HealthState, 'off'> {
    return healthStateOf(this.#marks)
  }
}
