/**
 * Time as an argument. Everything that depends on the date reads a `Clock`; the wall clock itself
 * is touched here only. Socket time-outs and cache lives use `elapsedMs`, which a test clock never
 * moves.
 */
export interface Clock {
  /** The service's time, epoch milliseconds. A test clock may stand ahead of the wall (§12.6). */
  now(): number
  /** Real milliseconds since some fixed instant; monotonic. */
  elapsedMs(): number
}

/** What a test clock is set to; kept in the database so that every node follows. */
export interface ClockSetting {
  /** Milliseconds ahead of the wall clock. */
  readonly offsetMs: number
  /** The instant at which time stands still, or null while it runs. */
  readonly frozenAtMs: number | null
}

export const wallClock: Clock = {
  now: () => Date.now(),
  elapsedMs: () => performance.now(),
}

/** A clock that can be set: `apply` takes a setting read from the database. */
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

  get setting(): ClockSetting {
    return this.#setting
  }

  apply(setting: ClockSetting): void {
    this.#setting = setting
  }

  /** The setting under which the time is `nowMs` and then runs on, or stands when `freeze`. */
  settingFor(nowMs: number, freeze: boolean): ClockSetting {
    return { offsetMs: nowMs - this.#base.now(), frozenAtMs: freeze ? nowMs : null }
  }
}
