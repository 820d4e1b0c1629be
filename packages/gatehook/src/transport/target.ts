/** A receiver's URL taken apart and judged, once for its many attempts. */
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
  const kept = new Map<string, Target>()
  return (text) => {
    let target = kept.get(text)
    if (target) return target
    const problem = targetProblem(text, allowPrivate)
    const url = problem === undefined ? new URL(text) : undefined
    target = { problem, origin: url?.origin ?? '', path: url ? url.pathname + url.search : '' }
    if (kept.size >= TARGETS_MAX) kept.clear()
    kept.set(text, target)
    return target
  }
}
