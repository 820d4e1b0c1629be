/**
 * Time as an argument. The only file that reads the wall clock. Dates use `now`; timeouts and cache
 * lifetimes use `elapsedMs`, which a test clock does not move.
 */
export interface Clock {
  /** Returns the service's time in epoch milliseconds; a test clock may be ahead (§12.6). */
  now(): number
  /** Returns real milliseconds since a fixed instant; monotonic. */
  elapsedMs(): number
  /** See `SteadyClock`. Default: `now`. */
  steadyNow?(): number
  /** A step that may be a mistake; undefined: none. */
  step?(): ClockStep | undefined
  /** See `SteadyClock`. */
  formerNow?(): number | undefined
  /** Counts the time that it is now as a step of `byMs`, which is doubted for `leftMs`. */
  doubt?(byMs: number, leftMs: number): void
  /** See `SteadyClock`. */
  judge?(aheadMs: number): void
}

/** A step of the machine's clock within the last day. */
export interface ClockStep {
  /** Negative: back. */
  readonly byMs: number
  /** When it was noticed, in `elapsedMs`. */
  readonly sinceMs: number
  /** How long it is doubted still. */
  readonly leftMs: number
}

/** How long a step of the clock is doubted. */
export const DOUBT_MS = 86_400_000

/** Returns the time by which repeats are recognized: a step of the clock counts after a day. */
export const steadyNow = (clock: Clock): number => clock.steadyNow?.() ?? clock.now()

/** Returns the earliest time that it may be: rows that stay for a period end by it. */
export const earliestNow = (clock: Clock): number => Math.min(clock.now(), steadyNow(clock))

/** The setting of a test clock, stored in the database so that every node follows it. */
export interface ClockSetting {
  /** Milliseconds ahead of the wall clock. */
  readonly offsetMs: number
  /** The instant at which the clock is frozen; null while it runs. */
  readonly frozenAtMs: number | null
}

export const wallClock: Clock = {
  now: () => Date.now(),
  elapsedMs: () => performance.now(),
}

/** A clock that follows a setting from the database. */
export class SettableClock implements Clock {
  #setting: ClockSetting = { offsetMs: 0, frozenAtMs: null }
  readonly #base: Clock

  constructor(base: Clock = wallClock) {
    this.#base = base
  }

  now(): number {
    return this.#setting.frozenAtMs ?? this.#base.now() + this.#setting.offsetMs
  }

  elapsedMs(): number {
    return this.#base.elapsedMs()
  }

  steadyNow(): number {
    return this.#setting.frozenAtMs ?? steadyNow(this.#base) + this.#setting.offsetMs
  }

  step(): ClockStep | undefined {
    return this.#base.step?.()
  }

  formerNow(): number | undefined {
    const formerMs = this.#base.formerNow?.()
    return formerMs === undefined ? undefined : formerMs + this.#setting.offsetMs
  }

  doubt(byMs: number, leftMs: number): void {
    this.#base.doubt?.(byMs, leftMs)
  }

  get setting(): ClockSetting {
    return this.#setting
  }

  apply(setting: ClockSetting): void {
    this.#setting = setting
  }

  /** Returns the setting under which it is `nowMs` now; with `freeze`, the time stays there. */
  settingFor(nowMs: number, freeze: boolean): ClockSetting {
    return { offsetMs: nowMs - this.#base.now(), frozenAtMs: freeze ? nowMs : null }
  }
}
