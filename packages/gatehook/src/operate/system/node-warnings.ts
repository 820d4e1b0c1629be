/** Faults that a node tolerates, each with the start of its state: its report has them. */
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { type HealthChecks, listUnreadyReasons, reasonForOperators } from './health.ts'

export interface NodeWarning {
  readonly check: string
  /** For operators. */
  readonly message: string
  /** Epoch milliseconds. */
  readonly since: number
}

/** Returns a function that lists the present warnings. */
export function createWarningList(
  checks: HealthChecks,
  { clock, log }: { readonly clock: Pick<Clock, 'now'>; readonly log: Log },
): () => Promise<readonly NodeWarning[]> {
  let starts: ReadonlyMap<string, number> = new Map()
  return async () => {
    const now = clock.now()
    const warnings = (await listUnreadyReasons(checks, log)).map((reason) => ({
      ...reasonForOperators(reason),
      since: starts.get(reason.check) ?? now,
    }))
    starts = new Map(warnings.map(({ check, since }) => [check, since]))
    return warnings
  }
}
