/** Customers take turns when more jobs are due than a node can start. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { createEnqueue } from '../../src/platform/jobs/queue.ts'
import { claimJob } from '../../src/platform/jobs/store.ts'
import { JobTurns } from '../../src/platform/jobs/turns.ts'
import type { Database } from '../../src/platform/storage/database.ts'

const NOW = Date.UTC(2027, 2, 1)
const LATER = NOW + 3_600_000
const clock = { now: () => NOW, elapsedMs: () => 0 }
const query = (limit: number) => ({ lane: 'service' as const, names: ['mail'], now: NOW, limit })

async function addJobs(db: Database, scopes: readonly number[], runAt = NOW): Promise<void> {
  const enqueue = createEnqueue({ clock, random: systemRandom(), wake: () => {} })
  for (const scope of scopes) {
    const job = { kind: 'job', name: 'mail', scope: scope as Scope, input: '{}', runAt } as const
    await db.write((tx) => enqueue(tx, job))
  }
}

/** Claims the next jobs and returns their scopes. */
async function claimNext(db: Database, turns: JobTurns, limit: number): Promise<number[]> {
  const jobs = await turns.select(db, query(limit))
  for (const job of jobs) await db.write((tx) => claimJob(tx, job, { node: 'n', now: NOW }))
  return jobs.map(({ scope }) => scope!)
}

eachMigrated('the backlog of one customer does not delay the job of another', async (db) => {
  await addJobs(db, [...Array(40).fill(2), 4, 4, 4, 7])
  const turns = new JobTurns()
  const first = await claimNext(db, turns, 10)
  assert.deepEqual(first.toSorted(), [2, 2, 2, 2, 2, 2, 2, 2, 4, 7])
  const next: number[] = []
  for (let n = 0; n < 4; n += 1) next.push(...(await claimNext(db, turns, 1)))
  assert.equal(next.filter((scope) => scope === 4).length, 2, next.join())
})

eachMigrated('turns pass over customers whose jobs are not due, and begin anew', async (db) => {
  await addJobs(db, Array(9).fill(2))
  await addJobs(db, [4, 6, 8], LATER)
  await addJobs(db, [10, 12])
  const turns = new JobTurns(3)
  const scopes: number[] = []
  for (let n = 0; n < 6; n += 1) scopes.push((await turns.select(db, query(1)))[0]!.scope!)
  // Three customers without a due job end the second pass: the longest due job of all is next.
  assert.deepEqual(scopes, [2, 2, 10, 12, 2, 2])
})
