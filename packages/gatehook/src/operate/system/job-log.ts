/** The runs of each background job of this node, for `GET /admin/system` and metrics. In memory. */
import type { Metric } from '../../platform/telemetry/metric.ts'

export interface JobRun {
  /** Epoch milliseconds of its end. */
  readonly lastAt: number
  readonly tookMs: number
  readonly ok: boolean
  /** Rows that it purged; undefined after a failure. */
  readonly rows: number | undefined
}

export class JobLog {
  readonly #runs = new Map<string, JobRun>()
  readonly #counts = new Map<string, { done: number; failed: number }>()

  add(name: string, run: JobRun): void {
    this.#runs.set(name, run)
    const counts = this.#counts.get(name) ?? { done: 0, failed: 0 }
    counts[run.ok ? 'done' : 'failed']++
    this.#counts.set(name, counts)
  }

  readonly metric: Metric = {
    name: 'gatehook_chore_runs_total',
    help: 'Runs of purges and other chores on this node, by chore and outcome: done, failed.',
    type: 'counter',
    read: () =>
      [...this.#counts].flatMap(([chore, counts]) =>
        Object.entries(counts).map(([outcome, value]) => ({ value, labels: { chore, outcome } })),
      ),
  }

  list(): readonly (JobRun & { readonly name: string })[] {
    return [...this.#runs].map(([name, run]) => ({ name, ...run }))
  }
}
