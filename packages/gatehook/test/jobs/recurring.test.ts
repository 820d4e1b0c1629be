/** Recurring jobs: the due time of an attempt, and of the run after it. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { Continuation, type JobHandler } from '../../src/platform/jobs/job.ts'
import { storeStep } from '../../src/platform/jobs/steps-store.ts'
import { gate, HOUR_MS, type Run, rigOf, START_MS } from './runner-rig.ts'

const hourly = { expression: '1h', next: (ms: number) => (Math.floor(ms / HOUR_MS) + 1) * HOUR_MS }
const dueOf = (input: string) => (JSON.parse(input).due_at - START_MS) / 60_000

eachMigrated('a half-done recurring job keeps its due time under a new schedule', async (db) => {
  const rig = rigOf(db)
  const declare = (expression: string, run: Run) =>
    rig.handlerOf('report', async () => {}, {
      kind: 'schedule',
      schedule: { ...hourly, expression },
      spread: { attempts: 25, timeoutMs: 60_000, run },
    })
  const first = rig.nodeOf([
    declare('1h', async ({ input }) => {
      const rest = JSON.stringify({ ...JSON.parse(input), after: 100 })
      return new Continuation(rig.clock.now() + HOUR_MS, rest)
    }),
  ])
  await first.settle()
  rig.advance(HOUR_MS)
  await first.settle()
  const runs: number[] = []
  const second = rig.nodeOf([declare('60m', async ({ input }) => runs.push(dueOf(input)))])
  await second.settle()
  rig.advance(HOUR_MS)
  await second.settle()
  // 11:00 from the middle, and 12:00 directly after it.
  assert.deepEqual(runs, [40, 100])
})

eachMigrated(
  'an attempt with stored steps keeps its due time after an interruption',
  async (db) => {
    const rig = rigOf(db)
    const runs: number[] = []
    const stored = gate()
    const declare = (run: Run) =>
      rig.handlerOf('report', run, { kind: 'schedule', schedule: hourly })
    const first = rig.nodeOf([
      declare(async ({ id, input, signal }) => {
        runs.push(dueOf(input))
        await db.write((tx) =>
          storeStep(tx, { job: id, name: 'charge', scope: null, result: null, now: START_MS }),
        )
        stored.open()
        await new Promise((_, reject) => signal.addEventListener('abort', reject))
      }),
    ])
    await first.settle()
    rig.advance(HOUR_MS)
    // A heartbeat, then the claim.
    await first.pass()
    await first.pass()
    await stored.promise
    await first.runner.drain(0)
    rig.advance(HOUR_MS)
    await rig.nodeOf([declare(async ({ input }) => runs.push(dueOf(input)))]).settle()
    assert.deepEqual(runs, [40, 40, 100])
  },
)

eachMigrated(
  'a job that enqueued no runs repeats their due time, by its own limits',
  async (db) => {
    const rig = rigOf(db)
    const runs: number[] = []
    const spread: JobHandler['spread'] = {
      attempts: 2,
      timeoutMs: 60_000,
      async run({ input }) {
        runs.push(JSON.parse(input).first_at)
        throw new Error('no')
      },
    }
    const more = { kind: 'schedule', schedule: hourly, spread, attempts: 1 } as const
    const node = rig.nodeOf([rig.handlerOf('report', async () => {}, more)])
    await node.settle()
    rig.advance(HOUR_MS)
    await node.settle()
    rig.advance(6_000)
    await node.settle()
    rig.advance(HOUR_MS)
    await node.settle()
    assert.deepEqual(new Set(runs).size, 1)
    assert.equal(runs.length, 3)
  },
)
