/**
 * The machine's clock without its mistakes. A step of ten minutes or more, against the monotonic
 * clock, is often put right soon, and what it ends does not return (§18.10). `now` follows it after
 * a minute, `steadyNow` after a day; the clock of a server decides at once. The time that a
 * suspended machine has slept is no step.
 */
import { uptime } from 'node:os'
import { type Clock, type ClockStep, DOUBT_MS, SettableClock, wallClock } from './clock.ts'

/** Smaller steps, such as those of a leap second or of a slow adjustment, count at once. */
const STEP_MIN_MS = 600_000
const HOLD_MS = 60_000
/** Of a clock that a start finds behind: a machine without one is often set within minutes. */
const HOLD_BACK_MS = 600_000
/** A smaller change of a trusted clock is no sleep. */
const SLEEP_MIN_MS = 60_000

/** Clocks that differ by less agree. */
const AGREES_MS = 60_000

interface PendingStep {
  readonly offsetMs: number
  readonly sinceMs: number
  /** When `now` follows it. */
  followMs: number
}

/** All times are epoch milliseconds. */
export class SteadyClock implements Clock {
  readonly #machine: Clock
  readonly #uptimeMs: () => number
  /** The distance of `steadyNow` and of `now` from the monotonic clock. */
  #steadyMs: number
  #followedMs: number
  #step: PendingStep | undefined
  /** How long the machine has slept. */
  #sleptMs: number
  /** The distance of `formerNow` from the monotonic clock. */
  #former: { readonly offsetMs: number; readonly untilMs: number } | undefined

  /** @param uptimeMs of the machine, with the time that it has slept */
  constructor(machine: Clock = wallClock, uptimeMs: () => number = () => uptime() * 1000) {
    this.#machine = machine
    this.#uptimeMs = uptimeMs
    const elapsedMs = machine.elapsedMs()
    this.#steadyMs = machine.now() - elapsedMs
    this.#followedMs = this.#steadyMs
    this.#sleptMs = uptimeMs() - elapsedMs
  }

  readonly elapsedMs = (): number => {
    return this.#machine.elapsedMs()
  }

  readonly now = (): number => {
    const elapsedMs = this.#update()
    return Math.round(elapsedMs + this.#followedMs)
  }

  readonly steadyNow = (): number => {
    const elapsedMs = this.#update()
    return Math.round(elapsedMs + this.#steadyMs)
  }

  readonly step = (): ClockStep | undefined => {
    this.#update()
    const step = this.#step
    if (!step) return undefined
    const leftMs = step.sinceMs + DOUBT_MS - this.#machine.elapsedMs()
    return { byMs: step.offsetMs - this.#steadyMs, sinceMs: step.sinceMs, leftMs }
  }

  /** The time that `steadyNow` would be without the last step, for a day after it has followed. */
  readonly formerNow = (): number | undefined => {
    const elapsedMs = this.#update()
    const former = this.#former
    return former && elapsedMs < former.untilMs
      ? Math.round(elapsedMs + former.offsetMs)
      : undefined
  }

  readonly doubt = (byMs: number, leftMs = DOUBT_MS): void => {
    const nowMs = this.#update()
    const sinceMs = nowMs - DOUBT_MS + leftMs
    const isBack = byMs < 0
    const followMs = nowMs + (isBack ? HOLD_BACK_MS : 0)
    this.#step = { offsetMs: this.#followedMs, sinceMs, followMs }
    this.#steadyMs = this.#followedMs - byMs
    if (isBack) this.#followedMs = this.#steadyMs
  }

  /**
   * Decides a step by another clock: it is right, or does not count for as long as that clock says
   * so. `aheadMs`: how far that clock is ahead of `now`.
   */
  readonly judge = (aheadMs: number): void => {
    const nowMs = this.#update()
    if (!this.#step) return
    const otherMs = this.#followedMs + aheadMs
    if (Math.abs(otherMs - this.#step.offsetMs) < AGREES_MS) this.#follow(this.#step.offsetMs)
    else if (Math.abs(otherMs - this.#steadyMs) < AGREES_MS) {
      this.#followedMs = this.#steadyMs
      this.#step.followMs = nowMs + HOLD_MS
    }
  }

  /** Reads both clocks; returns the monotonic one. */
  #update(): number {
    const elapsedMs = this.#machine.elapsedMs()
    const offsetMs = this.#machine.now() - elapsedMs
    if (isNear(offsetMs, this.#steadyMs)) this.#trust(offsetMs)
    else this.#doubt(offsetMs, elapsedMs)
    return elapsedMs
  }

  /** Trusts a step. Rows of the former time are found by it for a day. */
  #follow(offsetMs: number): void {
    const untilMs = this.#machine.elapsedMs() + DOUBT_MS
    this.#former = { offsetMs: this.#steadyMs, untilMs }
    this.#trust(offsetMs)
  }

  #trust(offsetMs: number): void {
    if (Math.abs(offsetMs - this.#steadyMs) >= SLEEP_MIN_MS) {
      this.#sleptMs = this.#uptimeMs() - this.#machine.elapsedMs()
    }
    this.#steadyMs = offsetMs
    this.#followedMs = offsetMs
    this.#step = undefined
  }

  #doubt(offsetMs: number, elapsedMs: number): void {
    if (!this.#step || !isNear(offsetMs, this.#step.offsetMs)) {
      const sleptMs = this.#uptimeMs() - elapsedMs
      const sleepMs = sleptMs - this.#sleptMs
      this.#sleptMs = sleptMs
      if (isNear(offsetMs, this.#steadyMs + sleepMs)) {
        this.#follow(offsetMs)
        return
      }
      this.#step = { offsetMs, sinceMs: elapsedMs, followMs: elapsedMs + HOLD_MS }
    }
    if (elapsedMs < this.#step.followMs) return
    if (elapsedMs >= this.#step.sinceMs + DOUBT_MS) this.#follow(offsetMs)
    else this.#followedMs = offsetMs
  }
}

/** Returns the clock of a service; `isSettable`: a test clock. */
export function createClock(isSettable: boolean, base: Clock = new SteadyClock()): Clock {
  return isSettable ? new SettableClock(base) : base
}

const isNear = (aMs: number, bMs: number): boolean => Math.abs(aMs - bMs) < STEP_MIN_MS
