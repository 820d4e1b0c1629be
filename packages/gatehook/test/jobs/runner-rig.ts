/** Runners of jobs on one database with a clock of the test. */
import { quietLog } from '../../../../test/rig/databases.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import type { JobHandler, JobKind, Lane } from '../../src/platform/jobs/job.ts'
import { createEnqueue } from '../../src/platform/jobs/queue.ts'
import { NodeJobRunner } from '../../src/platform/jobs/runner.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

export const START_MS = Date.UTC(2027, 2, 1, 10, 20)
export const HOUR_MS = 3_600_000
export const SCOPE = 2 as Scope

export type Run = JobHandler['run']

/** A promise that the test resolves. */
export function gate() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { promise, open: resolve }
}

/** Nodes on one database, and the clock that they share. */
export function rigOf(db: Database) {
  const time = { now: START_MS, elapsedMs: 0 }
  const clock = { now: () => time.now, elapsedMs: () => time.elapsedMs }
  const random = systemRandom()
  const enqueue = createEnqueue({ clock, random, wake: () => {} })
  const handlerOf = (name: string, run: Run, more: Partial<JobHandler> = {}): JobHandler => ({
    kind: 'job',
    name,
    attempts: 3,
    timeoutMs: 60_000,
    run,
    ...more,
  })
  const nodeOf = (
    handlers: readonly JobHandler[],
    options: { readonly lane?: Lane; readonly db?: Database } = {},
  ) => {
    let nudge = () => {}
    const findCustomer = async () => ({ id: 'default', deleting_since: null })
    const deps = { db, clock, random, log: quietLog, findCustomer, enqueue, nudge: () => nudge() }
    const runner = new NodeJobRunner({ ...deps, lane: 'service', ...options, handlers })
    return {
      runner,
      /** Runs passes until none of the started jobs runs, and no job is due. */
      async settle() {
        runner.wake()
        while (runner.isDue() || runner.figures().running > 0) {
          const ended = new Promise<void>((resolve) => (nudge = resolve))
          await runner.pass()
          if (!runner.isDue() && runner.figures().running > 0) await ended
        }
      },
      pass: async () => {
        runner.wake()
        await runner.pass()
      },
    }
  }
  return {
    time,
    clock,
    enqueue,
    handlerOf,
    nodeOf,
    advance(ms: number) {
      time.now += ms
      time.elapsedMs += ms
    },
    add: (
      name: string,
      more: { rowKey?: string; runAt?: number; kind?: JobKind; isMerged?: true } = {},
    ) =>
      db.write((tx) =>
        enqueue(tx, { kind: 'job', name, scope: SCOPE, input: JSON.stringify(name), ...more }),
      ),
    rows: () =>
      db.all(sql`SELECT name, state, attempt, run_at, error, schedule, input FROM gh_jobs
        ORDER BY no`),
  }
}
