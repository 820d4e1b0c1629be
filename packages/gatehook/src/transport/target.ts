/** A receiver's URL taken apart and judged, once for its many attempts. */
import { BoundedMap } from '../kernel/bounded-map.ts'
import { type TargetProblem, targetProblem } from './address-guard.ts'

export interface Target {
  readonly problem: TargetProblem | undefined
  readonly origin: string
  /** With the query. */
  readonly path: string
}

const TARGETS_MAX = 1_000

/** What is judged here follows from the text alone; the address is judged when it is dialled. */
export function targetReader(allowPrivate: boolean): (url: string) => Target {
  const kept = new BoundedMap<string, Target>(TARGETS_MAX)
  return (text) =>
    kept.getOrCreate(text, () => {
      const problem = targetProblem(text, allowPrivate)
      const url = problem === undefined ? new URL(text) : undefined
      return { problem, origin: url?.origin ?? '', path: url ? url.pathname + url.search : '' }
    })
}
