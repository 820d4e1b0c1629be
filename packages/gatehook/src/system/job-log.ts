/** The last run of each background job of this node, for `GET /admin/system`. In memory. */

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

  add(name: string, run: JobRun): void {
    this.#runs.set(name, run)
  }

  list(): readonly (JobRun & { readonly name: string })[] {
    return [...this.#runs].map(([name, run]) => ({ name, ...run }))
  }
}
