/** An index that the new declaration does not use remains while nodes of the previous one run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '../../../../test/rig/databases.ts'
import { createIndexBuilder } from '../../src/declare/resources/index-builds.ts'
import { Continuation, type JobAttempt } from '../../src/platform/jobs/job.ts'
import type { Database } from '../../src/platform/storage/database.ts'

test('a started service drops unused indexes after an hour', async () => {
  const dropped: string[] = []
  const dropIndexes = async (names: readonly string[]) => void dropped.push(...names)
  const db = { dropIndexes } as unknown as Database
  let now = 1_000
  const clock = { now: () => now, elapsedMs: () => 0 }
  const changes = { missing: [], unused: ['notes_by_size'] }
  const { handlers, finish } = createIndexBuilder({ db, clock, log: quietLog, changes })
  await finish(() => {})
  const [{ name, run } = assert.fail()] = handlers
  assert.equal(name, 'drop notes_by_size')
  const early = await run({} as JobAttempt)
  assert.ok(early instanceof Continuation)
  assert.deepEqual([early.continueAt, dropped], [3_601_000, []])
  now = early.continueAt
  assert.equal(await run({} as JobAttempt), undefined)
  assert.deepEqual(dropped, changes.unused)
})
