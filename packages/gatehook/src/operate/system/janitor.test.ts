import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as immediate } from 'node:timers/promises'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { type JanitorOptions, startJanitor } from './janitor.ts'
import { JobLog } from './job-log.ts'

test('chores run every minute, and at once after a jump of the clock', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const log = { warn() {} } as unknown as Log
  let elapsed = 0
  let ahead = 0
  const clock: Clock = { now: () => elapsed + ahead, elapsedMs: () => elapsed }
  let rounds = 0
  const jobs = new JobLog()
  const stop = startJanitor({
    log,
    chores: { chore: async () => ++rounds },
    lease: { claim: async () => true, release: async () => {} },
    clock,
    jobs,
  })
  const pass = async (ms: number) => {
    for (const until = elapsed + ms; elapsed < until; ) {
      elapsed += 250
      t.mock.timers.tick(250)
      await immediate()
    }
  }
  await pass(59_750)
  assert.equal(rounds, 0)
  await pass(250)
  assert.equal(rounds, 1)
  ahead += 30 * 86_400_000
  await pass(1000)
  assert.equal(rounds, 2)
  ahead -= 45_000 // the clock seems frozen; real minutes count too
  await pass(60_000)
  assert.equal(rounds, 3)
  await stop()
  const [run] = jobs.list()
  assert.deepEqual([run?.name, run?.ok, run?.rows], ['chore', true, 3])
})

test('a chore that finds nothing skips rounds, until it finds something', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const time = { now: 0, elapsedMs: 0 }
  const clock: Clock = { now: () => time.now, elapsedMs: () => time.elapsedMs }
  let rows = 0
  const rounds: number[] = []
  let claims = 0
  const stop = startJanitor({
    log: { warn() {} } as unknown as Log,
    chores: {
      async chore() {
        rounds.push(time.elapsedMs / 60_000)
        return rows
      },
    },
    lease: {
      async claim() {
        claims++
        return true
      },
      async release() {},
    },
    clock,
    jobs: new JobLog(),
  })
  const pass = async (minutes: number) => {
    for (let step = 0; step < minutes * 240; step++) {
      time.now += 250
      time.elapsedMs += 250
      t.mock.timers.tick(250)
      await immediate()
    }
  }
  await pass(30)
  assert.deepEqual(rounds, [1, 3, 7, 15, 23])
  assert.equal(claims, 5, 'a node takes the lease for due chores only')
  time.now += 86_400_000
  rows = 1
  await pass(3)
  assert.equal(rounds.length, 8, 'after a jump of the clock, and each minute while it finds rows')
  await stop()
})

/** A janitor with a common chore, one of each node and `chores`, whose runs are listed. */
function startStage(
  t: TestContext,
  chores: readonly string[],
  options: Partial<Pick<JanitorOptions, 'lease' | 'mayRun'>> = {},
) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let elapsed = 0
  const clock: Clock = { now: () => elapsed, elapsedMs: () => elapsed }
  const runs: string[] = []
  const names = ['common', 'own', ...chores]
  const stop = startJanitor({
    log: { warn() {} } as unknown as Log,
    chores: Object.fromEntries(names.map((name) => [name, async () => runs.push(name)])),
    nodeChores: ['own'],
    lease: { claim: async () => true, async release() {} },
    clock,
    jobs: new JobLog(),
    ...options,
  })
  const passMinute = async () => {
    for (let step = 0; step < 240; step++) {
      elapsed += 250
      t.mock.timers.tick(250)
      for (let rest = 5; rest > 0; rest--) await immediate()
    }
  }
  return { runs, passMinute, stop }
}

test('without the lease, a node runs only the chores of each node', async (t) => {
  let isFree = false
  const lease = {
    claim: async () => isFree,
    async release(at: number) {
      runs.push(`release ${at}`)
    },
  }
  const { runs, passMinute, stop } = startStage(t, [], { lease })
  await passMinute()
  assert.deepEqual(runs, ['own'])
  isFree = true
  await passMinute()
  assert.deepEqual(runs, ['own', 'own', 'common', 'release 175000'])
  await stop()
})

test('chores run that may run now', async (t) => {
  let isRight = false
  const mayRun = (chore: string) => isRight || chore === 'repair'
  const { runs, passMinute, stop } = startStage(t, ['repair'], { mayRun })
  await passMinute()
  assert.deepEqual(runs, ['repair'])
  isRight = true
  await passMinute()
  assert.deepEqual(runs, ['repair', 'own', 'common', 'repair'])
  await stop()
})
