/**
 * How many attempts are started at a time. Receivers that answer quickly need few sockets: more of
 * them only wait for this thread. Those that are slow do not count after a moment, so that they
 * take no places from the quick ones. Pure but for its own counts; real time comes in.
 */
const QUICK_MAX = 48
/** Beyond it, for customers that have nothing under way. */
const FIRST_MAX = 80
/** What has not ended after this is slow. */
const QUICK_MS = 50
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

  /** `first`: of a customer that has nothing under way. */
  admits(elapsedMs: number, first: boolean): boolean {
    for (; this.#next < this.#starts.length; this.#next++) {
      const start = this.#starts[this.#next]!
      if (start.ended) continue
      if (elapsedMs - start.atMs < QUICK_MS) break
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

  ended(start: Start): void {
    start.ended = true
    if (!start.slow) this.#quick -= 1
  }
}
