/**
 * How many attempts are started at a time. Receivers that answer quickly need few sockets: more of
 * them only wait for this thread. Those that are slow do not count after a moment, so that they
 * take no places from the quick ones. Pure but for its own counts; real time comes in.
 */
const QUICK_MAX = 48
/** Beyond it, for customers that have nothing under way. */
const FIRST_MAX = 80
/**
 * What has not ended after this is slow; where even the quick take long, because this thread or
 * the machine is busy, after some times as long as they do.
 */
const QUICK_MS = 50
const QUICK_MAX_MS = 250
const TIMES_USUAL = 4
/** How much an answer says of what is usual: few quick ones outweigh many that dawdle. */
const SLOWER = 1 / 256
const QUICKER = 1 / 8
/** Ended starts are thrown away so many at a time. */
const CLEAR_AT = 1_024

export interface Start {
  readonly atMs: number
  ended: boolean
  slow: boolean
}

export class Pace {
  #starts: Start[] = []
  #next = 0
  #quick = 0
  #usualMs = 0

  /** `first`: of a customer that has nothing under way. */
  admits(elapsedMs: number, first: boolean): boolean {
    const quickMs = Math.min(QUICK_MAX_MS, Math.max(QUICK_MS, TIMES_USUAL * this.#usualMs))
    for (; this.#next < this.#starts.length; this.#next++) {
      const start = this.#starts[this.#next]!
      if (start.ended) continue
      if (elapsedMs - start.atMs < quickMs) break
      start.slow = true
      this.#quick -= 1
    }
    if (this.#next >= CLEAR_AT) {
      this.#starts = this.#starts.slice(this.#next)
      this.#next = 0
    }
    return this.#quick < (first ? FIRST_MAX : QUICK_MAX)
  }

  started(elapsedMs: number): Start {
    const start = { atMs: elapsedMs, ended: false, slow: false }
    this.#starts.push(start)
    this.#quick += 1
    return start
  }

  ended(start: Start, elapsedMs: number): void {
    start.ended = true
    if (start.slow) return
    this.#quick -= 1
    const more = elapsedMs - start.atMs - this.#usualMs
    this.#usualMs += more * (more > 0 ? SLOWER : QUICKER)
  }
}
