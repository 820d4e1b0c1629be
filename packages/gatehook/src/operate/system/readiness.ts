/**
 * The readiness of a node: `/readyz`, metrics, `/admin/system` and the row of the node say the same
 * of it. A heartbeat repeats the last result of the checks that query the database, and runs them
 * if no probe has done so for a minute.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { resolveWithin } from '../../kernel/resolve-within.ts'
import {
  type DelayReason,
  explainByPrimary,
  type HealthChecks,
  listUnreadyReasons,
  type UnreadyReason,
} from './health.ts'

/** A heartbeat runs checks again whose last result is older. */
const VALID_MS = 60_000
/** A report does not wait longer for the checks. */
const REPORT_MS = 500

interface ReadinessChecks {
  /** For a node that serves reads. */
  readonly read: HealthChecks
  /** For a node that also stores writes; includes the checks of reads. */
  readonly write: HealthChecks
  /** For a node that stores its row afterwards. */
  readonly heartbeat: HealthChecks
  /** The names of checks that query nothing. */
  readonly free: ReadonlySet<string>
}

export interface Readiness {
  readonly checks: Pick<ReadinessChecks, 'read' | 'write'>
  /** Runs the checks. Returns why the node is not ready; empty if it is. */
  assess(purpose: 'read' | 'write'): Promise<readonly UnreadyReason[]>
  /**
   * Returns the reasons for writes, for a report: those of the last run if the checks do not answer
   * within 0.5 s. Reports at one moment share a run.
   */
  report(): Promise<readonly UnreadyReason[]>
  /** Returns the reasons for writes; runs the checks that query only if the last run is old. */
  recall(): Promise<readonly UnreadyReason[]>
  /** Calls the listener when other checks fail than before. */
  onChange(listener: () => void): void
}

interface ReadinessOptions extends ReadinessChecks {
  /** Says why a check may not end in time. */
  readonly explainDelay?: DelayReason
  /** Says why the primary is away. */
  readonly explainPrimary?: DelayReason
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly log: Log
}

const namesOf = (reasons: readonly UnreadyReason[]): string =>
  reasons.map(({ check }) => check).join(' ')

export function createReadiness({
  read,
  write,
  heartbeat,
  free,
  explainDelay,
  explainPrimary = () => undefined,
  clock,
  log,
}: ReadinessOptions): Readiness {
  const checks = { read, write }
  const listeners: (() => void)[] = []
  const explain = (reasons: readonly UnreadyReason[]) => explainByPrimary(reasons, explainPrimary())
  const listReasons = async (all: HealthChecks) =>
    explain(await listUnreadyReasons(all, log, explainDelay))
  const freeChecks = Object.fromEntries(Object.entries(write).filter(([name]) => free.has(name)))
  let last: { readonly atMs: number; readonly reasons: readonly UnreadyReason[] } | undefined
  const run = async (all: HealthChecks): Promise<readonly UnreadyReason[]> => {
    const reasons = await listReasons(all)
    const isChanged = namesOf(reasons) !== namesOf(last?.reasons ?? [])
    last = { atMs: clock.elapsedMs(), reasons }
    if (isChanged) for (const listener of listeners) listener()
    return reasons
  }
  const recallLast = async () => {
    const reasons = await listReasons(freeChecks)
    return explain([...reasons, ...(last?.reasons ?? []).filter(({ check }) => !free.has(check))])
  }
  let reported: Promise<readonly UnreadyReason[]> | undefined
  const runForReports = () =>
    run(write).finally(() => {
      reported = undefined
    })
  return {
    checks,
    async report() {
      reported ??= runForReports()
      return (await resolveWithin(REPORT_MS, reported)) ?? recallLast()
    },
    assess: (purpose) => (purpose === 'read' ? listReasons(read) : run(write)),
    async recall() {
      const isOld = !last || clock.elapsedMs() - last.atMs > VALID_MS
      return isOld ? run(heartbeat) : recallLast()
    },
    onChange: (listener) => void listeners.push(listener),
  }
}
