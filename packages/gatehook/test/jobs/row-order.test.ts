/** Jobs of one row run one after the other, and those that wait cost nothing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases, eachMigrated } from '../../../../test/rig/databases.ts'
import { purgeJobs } from '../../src/platform/jobs/retention.ts'
import { cancelJob, lockJob } from '../../src/platform/jobs/store.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { gate, HOUR_MS, rigOf, SCOPE } from './runner-rig.ts'

eachMigrated('a job that waits for one of its row causes no passes', async (db) => {
  const rig = rigOf(db)
  const first = gate()
  const node = rig.nodeOf([rig.handlerOf('pack', () => first.promise)])
  for (let n = 0; n < 2; n++) await rig.add('pack', { rowKey: 'row' })
  for (let passes = 0; node.runner.isDue(); passes++) {
    assert.ok(passes < 4, 'the runner repeats its passes')
    await node.runner.pass()
  }
  first.open()
  await node.settle()
  assert.deepEqual(
    (await rig.rows()).map(({ state }) => state),
    ['done', 'done'],
  )
})

eachMigrated('no search for due jobs reads those that wait for one of their row', async (db) => {
  const rig = rigOf(db)
  const first = gate()
  const node = rig.nodeOf([
    rig.handlerOf('first', () => first.promise),
    rig.handlerOf('next', async () => undefined),
  ])
  const readBlocked = async () =>
    (await db.all<{ blocked: number }>(sql`SELECT blocked FROM gh_jobs ORDER BY no`)).map(
      ({ blocked }) => blocked,
    )
  await rig.add('first', { rowKey: 'row' })
  for (let n = 0; n < 3; n++) await rig.add('next', { rowKey: 'row' })
  await node.pass()
  assert.deepEqual(await readBlocked(), [0, 1, 1, 1])
  const [, second] = await db.all<{ id: string }>(sql`SELECT id FROM gh_jobs ORDER BY no`)
  await db.write(async (tx) => cancelJob(tx, (await lockJob(tx, second!.id))!, rig.clock.now()))
  assert.deepEqual(await readBlocked(), [0, 1, 1, 1], 'one that ends is followed by none')
  first.open()
  await node.settle()
  assert.deepEqual(
    (await rig.rows()).map(({ state }) => state),
    ['done', 'canceled', 'done', 'done'],
  )
})

eachMigrated('overdue jobs of one row fail one after the other', async (db) => {
  const rig = rigOf(db)
  for (let n = 0; n < 3; n++) await rig.add('removed', { rowKey: 'row' })
  rig.advance(31 * 24 * HOUR_MS)
  for (let n = 0; n < 3; n++) await purgeJobs(db, rig.clock)
  assert.deepEqual(
    (await rig.rows()).map(({ state }) => state),
    ['failed', 'failed', 'failed'],
  )
})

eachMigrated('a merged job is stored unless one of its row waits', async (db) => {
  const rig = rigOf(db)
  const first = gate()
  const node = rig.nodeOf([rig.handlerOf('sweep', () => first.promise)])
  const addMerged = () => rig.add('sweep', { rowKey: 'row', isMerged: true })
  const firstId = await addMerged()
  assert.equal(await addMerged(), firstId)
  await node.pass()
  const nextId = await addMerged()
  assert.notEqual(nextId, firstId, 'a running job may have read its last work')
  assert.equal(await addMerged(), nextId)
  first.open()
  await node.settle()
  assert.equal((await rig.rows()).length, 2)
})

test('the end of a job sees one that is inserted meanwhile [postgres]', async (t) => {
  const db = await databases.find(({ name }) => name === 'postgres')!.openMigrated(t)
  const rig = rigOf(db)
  const [first, inserted, commit] = [gate(), gate(), gate()]
  const node = rig.nodeOf([rig.handlerOf('pack', () => first.promise)])
  await rig.add('pack', { rowKey: 'row' })
  await node.pass()
  const late = db.write(async (tx) => {
    await rig.enqueue(tx, { kind: 'job', name: 'pack', scope: SCOPE, input: '1', rowKey: 'row' })
    inserted.open()
    await commit.promise
  })
  await inserted.promise
  first.open()
  const end = node.settle()
  commit.open()
  await Promise.all([late, end])
  await node.settle()
  assert.deepEqual(
    (await rig.rows()).map(({ state }) => state),
    ['done', 'done'],
  )
})
