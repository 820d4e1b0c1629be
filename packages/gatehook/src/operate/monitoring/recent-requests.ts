/** Counts the requests of callers of a node in the last minutes. Pure. */

const MINUTE_MS = 60_000
/** The present minute, and the five before it. */
const MINUTES = 6

export class RecentRequests {
  readonly #minutes = new Map<number, number>()
  #lastMs: number | undefined

  note(nowMs: number): void {
    this.#lastMs = nowMs
    const minute = Math.floor(nowMs / MINUTE_MS)
    this.#minutes.set(minute, (this.#minutes.get(minute) ?? 0) + 1)
    if (this.#minutes.size > MINUTES) this.#removeFormer(minute)
  }

  /** Returns how many requests came in the last five to six minutes, and when the last one did. */
  read(nowMs: number): { readonly count: number; readonly lastMs: number | undefined } {
    this.#removeFormer(Math.floor(nowMs / MINUTE_MS))
    const count = this.#minutes.values().reduce((sum, each) => sum + each, 0)
    return { count, lastMs: this.#lastMs }
  }

  /** Also minutes of the future: the clock was set. */
  #removeFormer(minute: number): void {
    for (const each of this.#minutes.keys())
      if (each > minute || each <= minute - MINUTES) this.#minutes.delete(each)
  }
}
