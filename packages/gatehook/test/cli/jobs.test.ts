/** §6.14: the command line lists and retries jobs. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { quietLog } from '../../../../test/rig/databases.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import { insertJob } from '../../src/platform/jobs/store.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { gatehook, jsonOf } from './command.ts'

test('a failed job is in the list and can be retried', async (t) => {
  const cwd = emptyFolder(t)
  const place = { cwd, env: { GATEHOOK_DATABASE_URL: `sqlite:${join(cwd, 'jobs.db')}` } }
  await gatehook(place, 'migrate')
  const options = { log: quietLog, clock: wallClock }
  const db = await openDatabase(place.env.GATEHOOK_DATABASE_URL, options)
  await db.write(async (tx) => {
    const job = { kind: 'job', name: 'mail', scope: 3 as Scope, runAt: 0, createdAt: 0 } as const
    await insertJob(tx, { ...job, id: 'job_1', input: '{"order_id":7}' })
    await insertJob(tx, { ...job, id: 'job_2', input: '{}' })
    await tx.run(sql`UPDATE gh_jobs SET state = 'failed', attempt = 10, error = 'Error: no server',
      ended_at = 5 WHERE id = 'job_1'`)
  })
  await db.close()
  const listed = await jsonOf(place, 'jobs', 'list', '--state', 'failed')
  assert.deepEqual(
    listed.data.map(({ id, error, customer, mode }: Record<string, unknown>) => [
      id,
      error,
      customer,
      mode,
    ]),
    [['job_1', 'Error: no server', 'cus_default', 'live']],
  )
  assert.match((await gatehook(place, 'jobs')).stdout, /job_2.*\n.*job_1/)
  assert.match((await gatehook(place, 'jobs', 'show', 'job_1')).stdout, /"order_id": 7/)
  const retried = await jsonOf(place, 'jobs', 'retry', 'job_1')
  assert.deepEqual([retried.state, retried.attempt, retried.ended_at], ['waiting', 0, null])
  const missing = await gatehook(place, 'jobs', 'retry', 'job_3')
  assert.equal(missing.exit, 1)
})
