/** §15.6: the steps of an attempt, and of one that another node has taken over. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { ENGINE } from '../../src/platform/jobs/job.ts'
import { purgeJobs } from '../../src/platform/jobs/retention.ts'
import { FAILED_AFTER_MS, HEARTBEAT_MS } from '../../src/platform/jobs/runner.ts'
import { createSteps } from '../../src/platform/jobs/steps.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { gate, HOUR_MS, type Run, rigOf } from './runner-rig.ts'

const vault = new Vault('a secret that only tests know, long enough', systemRandom())

/** A job whose steps append to `effects`, and wait at the gate of their node. */
function stepping(db: Database) {
  const rig = rigOf(db)
  const deps = { db, clock: rig.clock, random: systemRandom(), vault }
  const effects: string[] = []
  const runOf =
    (node: string, reached: () => void, until: Promise<void>): Run =>
    async (attempt) => {
      const steps = createSteps(deps, attempt)
      const first = await steps.effect('first', async () => {
        effects.push(`${node} first`)
        return '1'
      })
      const second = await steps.effect('second', async (key) => {
        effects.push(`${node} second ${key}`)
        reached()
        await until
        return node
      })
      await steps.write('third', async (tx) => {
        await tx.run(sql`INSERT INTO gh_settings (name, value) VALUES ('third', ${node})`)
        return first + second
      })
    }
  return { rig, effects, runOf }
}

eachMigrated('an attempt that was taken over stores no result', async (db) => {
  const { rig, effects, runOf } = stepping(db)
  const [reached, lost] = [gate(), gate()]
  const open = Promise.resolve()
  const node = (run: Run) => rig.nodeOf([rig.handlerOf('pay', run)])
  const first = node(runOf('one', reached.open, lost.promise))
  const second = node(runOf('two', () => {}, open))
  await rig.add('pay')
  await first.pass()
  await reached.promise
  await second.pass()
  rig.advance(HEARTBEAT_MS)
  await second.pass()
  rig.advance(FAILED_AFTER_MS + HEARTBEAT_MS)
  await second.pass()
  await second.settle()
  lost.open()
  await first.settle()
  const [, lostEffect, repeated] = effects.map((effect) => effect.split(' '))
  assert.deepEqual(
    [effects.length, lostEffect![0], repeated![0], lostEffect![2]],
    [3, 'one', 'two', repeated![2]],
  )
  assert.deepEqual(await db.all(sql`SELECT value FROM gh_settings WHERE name = 'third'`), [
    { value: 'two' },
  ])
  assert.deepEqual(
    (await rig.rows()).map(({ state, attempt }) => [state, attempt]),
    [['done', 2]],
  )
  // The results end with the row of the job.
  assert.equal((await db.all(sql`SELECT name FROM gh_steps`)).length, 4)
  rig.advance(25 * HOUR_MS)
  await purgeJobs(db, rig.clock)
  assert.deepEqual(await db.all(sql`SELECT name FROM gh_steps`), [])
})

/** A job with one step, whose attempts wait before or in it, and do not see that they were lost. */
function charging(db: Database) {
  const rig = rigOf(db)
  const deps = { db, clock: rig.clock, random: systemRandom(), vault }
  const charges: string[] = []
  /** Returns a node, and the end of its attempt's code. */
  const nodeOf = (name: string, waits: { before?: () => unknown; within?: () => unknown }) => {
    const ended = Promise.withResolvers<void>()
    const run: Run = async (attempt) => {
      const steps = createSteps(deps, { ...attempt, signal: new AbortController().signal })
      await steps.readResponse()
      await waits.before?.()
      const charge = async () => {
        charges.push(name)
        await waits.within?.()
        return name
      }
      await steps.effect('charge', charge).finally(ended.resolve)
    }
    return { ...rig.nodeOf([rig.handlerOf('pay', run)]), ended: ended.promise }
  }
  const takeOver = async ({ pass }: ReturnType<typeof nodeOf>) => {
    await pass()
    rig.advance(HEARTBEAT_MS)
    await pass()
    rig.advance(FAILED_AFTER_MS + HEARTBEAT_MS)
    await pass()
    await pass()
  }
  return { rig, charges, nodeOf, takeOver }
}

eachMigrated('an attempt that was taken over does not repeat a step that had begun', async (db) => {
  const { rig, charges, nodeOf, takeOver } = charging(db)
  const [lost, end, stalled, awake] = [gate(), gate(), gate(), gate()]
  const lose = () => {
    lost.open()
    return end.promise
  }
  const stall = () => {
    stalled.open()
    return awake.promise
  }
  const [first, second, third] = [
    nodeOf('one', { within: lose }),
    nodeOf('two', { before: stall }),
    nodeOf('three', {}),
  ]
  await rig.add('pay')
  await first.pass()
  await lost.promise
  await takeOver(second)
  // It has read that the step has begun.
  await stalled.promise
  await takeOver(third)
  await third.settle()
  awake.open()
  end.open()
  await Promise.all([second.settle(), second.ended, first.settle(), first.ended])
  assert.deepEqual(charges, ['one', 'three'])
  assert.deepEqual(
    (await rig.rows()).map(({ state, attempt }) => [state, attempt]),
    [['done', 3]],
  )
})

test('an attempt has 1,000 steps of its own, and as many for each customer and mode', async () => {
  // Stores nothing, so that the test is fast.
  const db = { write: async () => [] } as unknown as Database
  const deps = { db, clock: { now: () => 0, elapsedMs: () => 0 }, random: systemRandom(), vault }
  const { signal } = new AbortController()
  const job = { id: 'job_1', scope: null, customer: undefined, input: '{}', node: 'a', attempt: 1 }
  const steps = createSteps(deps, { ...job, caller: ENGINE, signal })
  const own = [2 as Scope, 3 as Scope].map((scope) => steps.within(scope))
  const keys = new Set<string>()
  for (const { effect } of [steps, ...own]) {
    for (let n = 0; n < 1_000; n++)
      await effect(`call ${n}`, async (key) => `${keys.add(key).size}`)
  }
  assert.equal(keys.size, 3_000)
  await assert.rejects(
    own[0]!.effect('call 1000', async () => ''),
    /at most 1000 steps/,
  )
})
