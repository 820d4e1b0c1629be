/**
 * Collects the product's words for a fault: statuses and codes of responses, `/readyz`, lines of
 * the log, metrics, items of attention, commands. An operator needs the cause within a minute.
 */
import { setTimeout as pause } from 'node:timers/promises'

export interface ProductWord {
  /** `/readyz 503`, `log of node1`, `gatehook doctor`. */
  readonly source: string
  readonly text: string
  /** The time since the last fault at which it was first said. */
  readonly afterMs: number
}

/** Returns whether a pattern finds a word, in its source and text. */
export const saidBy =
  (pattern: RegExp) =>
  ({ source, text }: ProductWord): boolean =>
    pattern.test(`${source}: ${text}`)

const LIMIT_MS = 60_000
/** Sentences with changing figures would grow without bound. */
const WORDS_MAX = 500
const INTERVAL_MS = 50

export class Witness {
  readonly #words = new Map<string, ProductWord>()
  #faultMs: number | undefined

  /** Words before the first fault are not recorded. */
  markFault(): void {
    this.#faultMs = performance.now()
  }

  hear(source: string, text: string): void {
    const key = `${source} ${text}`
    if (this.#faultMs === undefined || this.#words.has(key)) return
    if (this.#words.size >= WORDS_MAX) return
    this.#words.set(key, { source, text, afterMs: Math.round(performance.now() - this.#faultMs) })
  }

  get words(): readonly ProductWord[] {
    return [...this.#words.values()]
  }

  /** Returns the word that the pattern finds in its source and text. */
  find(pattern: RegExp): ProductWord | undefined {
    return this.words.find(saidBy(pattern))
  }

  /** Resolves when the product has said it; `missing` reports a word that never came. */
  async until(pattern: RegExp): Promise<void> {
    const untilMs = performance.now() + LIMIT_MS
    while (!this.find(pattern) && performance.now() < untilMs) await pause(INTERVAL_MS)
  }

  /** Returns a sentence for each pattern that the product has not said in time. */
  missing(patterns: readonly RegExp[]): string[] {
    return patterns.flatMap((pattern) => {
      const word = this.find(pattern)
      if (word && word.afterMs <= LIMIT_MS) return []
      return [`the product has not said ${pattern} within ${LIMIT_MS / 1_000} s of a fault`]
    })
  }
}
