/**
 * States that the polls of a node have met, for 10 s after the last poll that met each: between two
 * polls clients come and go, statements fail, and others begin to wait.
 */
import type { Clock } from '../../kernel/clock.ts'

const LISTED_MS = 10_000

export type Lasting<T> = T & {
  /** When it began, or the first poll met it; epoch milliseconds. */
  readonly sinceMs: number
}

export interface LastingStates<T> {
  /** Returns whether the state is new. `sinceMs`: when a new one began; default: now. */
  meet(key: number | string, state: T, sinceMs?: number): boolean
  list(): readonly Lasting<T>[]
}

export function createLastingStates<T extends object>(
  clock: Pick<Clock, 'now' | 'elapsedMs'>,
): LastingStates<T> {
  const states = new Map<number | string, { readonly state: Lasting<T>; readonly metMs: number }>()
  const removeFormer = () => {
    const fromMs = clock.elapsedMs() - LISTED_MS
    for (const [key, { metMs }] of states) if (metMs < fromMs) states.delete(key)
  }
  return {
    meet(key, state, sinceMs = clock.now()) {
      removeFormer()
      const former = states.get(key)?.state
      const current = { ...state, sinceMs: former?.sinceMs ?? sinceMs }
      states.set(key, { state: current, metMs: clock.elapsedMs() })
      return former === undefined
    },
    list() {
      removeFormer()
      return [...states.values()].map(({ state }) => state)
    },
  }
}
