/** Customers and their callers take turns when more jobs are due than a node can start. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import type { DueJob, JobCaller } from '../../src/platform/jobs/job.ts'
import { createEnqueue } from '../../src/platform/jobs/queue.ts'
import { claimJob } from '../../src/platform/jobs/store.ts'
import { JobTurns } from '../../src/platform/jobs/turns.ts'
import type { Database, Reader, Statement } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const NOW = Date.UTC(2027, 2, 1)
const LATER = NOW + 3_600_000
const clock = { now: () => NOW, elapsedMs: () => 0 }
const query = (limit: number) => ({ lane: 'service' as const, names: ['mail'], now: NOW, limit })

interface Added {
  readonly scopes: readonly number[]
  readonly runAt?: number
  readonly caller?: JobCaller
}

async function addJobs(db: Database, { scopes, runAt = NOW, caller }: Added): Promise<void> {
  const enqueue = createEnqueue({ clock, random: systemRandom(), wake: () => {} })
  for (const scope of scopes) {
    const job = { kind: 'job', name: 'mail', scope: scope as Scope, input: '{}', runAt } as const
    await db.write((tx) => enqueue(tx, { ...job, caller }))
  }
}

/** Claims the next jobs. */
async function claimJobs(db: Database, turns: JobTurns, limit: number): Promise<DueJob[]> {
  const jobs = await turns.select(db, query(limit))
  for (const job of jobs) await db.write((tx) => claimJob(tx, job, { node: 'n', now: NOW }))
  return jobs
}

/** Claims the next jobs and returns their scopes. */
const claimNext = async (db: Database, turns: JobTurns, limit: number): Promise<number[]> =>
  (await claimJobs(db, turns, limit)).map(({ scope }) => scope!)

eachMigrated('the backlog of one customer does not delay the job of another', async (db) => {
  await addJobs(db, { scopes: [...Array(40).fill(2), 4, 4, 4, 7] })
  const turns = new JobTurns()
  const first = await claimNext(db, turns, 10)
  assert.deepEqual(first.toSorted(), [2, 2, 2, 2, 2, 2, 2, 2, 4, 7])
  const next: number[] = []
  for (let n = 0; n < 4; n += 1) next.push(...(await claimNext(db, turns, 1)))
  assert.equal(next.filter((scope) => scope === 4).length, 2, next.join())
})

eachMigrated('turns pass over customers whose jobs are not due, and begin anew', async (db) => {
  await addJobs(db, { scopes: Array(9).fill(2) })
  await addJobs(db, { scopes: [4, 6, 8], runAt: LATER })
  await addJobs(db, { scopes: [10, 12] })
  const turns = new JobTurns(3)
  const scopes: number[] = []
  for (let n = 0; n < 6; n += 1) scopes.push((await turns.select(db, query(1)))[0]!.scope!)
  // Three customers without a due job end the second pass: the longest due job of all is next.
  assert.deepEqual(scopes, [2, 2, 10, 12, 2, 2])
})

const person = (name: string): JobCaller => ({ name, isPerson: true })
const key = (name: string): JobCaller => ({ name, isPerson: false })

eachMigrated('the backlog of one caller does not delay the jobs of others', async (db) => {
  const scopes = (count: number) => Array(count).fill(2)
  await addJobs(db, { scopes: scopes(40), caller: person('busy') })
  await addJobs(db, { scopes: scopes(9), caller: key('key a') })
  await addJobs(db, { scopes: scopes(2), caller: key('key b') })
  for (const name of ['ada', 'bob', 'cid']) {
    await addJobs(db, { scopes: scopes(2), caller: person(name) })
    await addJobs(db, { scopes: scopes(1), runAt: LATER, caller: person(`${name} later`) })
  }
  const turns = new JobTurns()
  const names: string[] = []
  for (let n = 0; n < 16; n += 1) names.push((await claimJobs(db, turns, 1))[0]!.caller)
  // Persons and programs take turns, and the callers of each group.
  const people = ['ada', 'bob', 'busy', 'cid']
  const keys = ['key a', 'key b']
  assert.deepEqual(
    names.filter((name) => !name.startsWith('key')),
    [...people, ...people],
  )
  assert.deepEqual(
    names.filter((name) => name.startsWith('key')),
    [...keys, ...keys, ...Array(4).fill('key a')],
  )
})

eachMigrated('a turn passes over many callers whose jobs are not due', async (db) => {
  for (let n = 10; n < 70; n += 1) {
    await addJobs(db, { scopes: [2], runAt: LATER, caller: key(`later ${n}`) })
  }
  await addJobs(db, { scopes: Array(30).fill(2), caller: key('busy') })
  await addJobs(db, { scopes: [2], caller: key('quiet') })
  const turns = new JobTurns()
  const names: string[] = []
  for (let n = 0; n < 8; n += 1) names.push((await claimJobs(db, turns, 1))[0]!.caller)
  assert.ok(names.includes('quiet'), names.join())
})

/** Returns the plan of each statement of a selection, as JSON text. */
async function explain(db: Database, prefix: string): Promise<string[]> {
  const plans: string[] = []
  const from = {
    async all(statement: Statement) {
      const { text, sql: forSqlite, values } = statement
      const explained = { text: `${prefix} ${text}`, sql: `${prefix} ${forSqlite}`, values }
      plans.push(JSON.stringify(await db.all(explained)))
      return db.all(statement)
    },
  } as unknown as Reader
  await new JobTurns().select(from, query(10))
  return plans
}

eachMigrated('a selection does not read the backlog', async (db) => {
  await addJobs(db, { scopes: [2], caller: key('quiet') })
  await db.write((tx) =>
    tx.run(sql`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      INSERT INTO gh_jobs
        (id, kind, lane, name, scope, caller_group, caller, input, run_at, created_at)
      SELECT 'job_' || i, 'job', 'service', 'mail', 2, 5, 'busy', '{}', i, 0 FROM n`),
  )
  if (db.dialect.name === 'sqlite') {
    const text = (await explain(db, 'EXPLAIN QUERY PLAN')).join()
    const searches = text.match(/SEARCH [jw] USING [^"]+/g)!
    const seeks = [
      /_due \(lane=\? AND run_at<\?\)/,
      /_waiting \(lane=\? AND <expr>>\?\)/,
      /_waiting \(lane=\? AND <expr>=\? AND run_at<\?\)/,
      /_callers \(lane=\? AND <expr>=\? AND caller>\?\)/,
      /_callers \(lane=\? AND <expr>=\?\)/,
      /_callers \(lane=\? AND <expr>=\? AND caller=\? AND run_at<\?\)/,
      /PRIMARY KEY/,
    ]
    for (const seek of seeks) assert.match(text, seek)
    for (const search of searches)
      assert.ok(
        seeks.some((seek) => seek.test(search)),
        search,
      )
    assert.doesNotMatch(text, /SCAN [jw] /)
  } else {
    await db.write((tx) => tx.run(sql`ANALYZE gh_jobs`))
    for (const plan of await explain(db, 'EXPLAIN (ANALYZE, FORMAT JSON)')) {
      const counts = plan.matchAll(/"(?:Actual Rows|Rows Removed by [\w ]+)":([\d.]+)/g)
      for (const [text, count] of counts) assert.ok(Number(count) < 50, `${text} in ${plan}`)
    }
  }
})
