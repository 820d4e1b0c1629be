/** The runner of jobs: retries, leases, order, schedules, timeouts, drain, purge. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import type { DueJob, JobAttempt } from '../../src/platform/jobs/job.ts'
import { purgeJobs } from '../../src/platform/jobs/retention.ts'
import { FAILED_AFTER_MS, HEARTBEAT_MS } from '../../src/platform/jobs/runner.ts'
import { parseSchedule } from '../../src/platform/jobs/schedule.ts'
import { claimJob } from '../../src/platform/jobs/store.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { gate, HOUR_MS, type Run, rigOf, START_MS } from './runner-rig.ts'

eachMigrated('a job that fails is retried later and later, and fails for good', async (db) => {
  const rig = rigOf(db)
  const starts: number[] = []
  const node = rig.nodeOf([
    rig.handlerOf('mail', async () => {
      starts.push(rig.time.now - START_MS)
      throw new Error(`no mail server, ${starts.length}`)
    }),
  ])
  await rig.add('mail')
  await node.settle()
  assert.deepEqual(starts, [0])
  const [retry] = await rig.rows()
  assert.deepEqual([retry!.state, retry!.error], ['waiting', 'Error: no mail server, 1'])
  const delayMs = retry!.run_at - START_MS
  assert.ok(delayMs >= 4_000 && delayMs <= 6_000, String(delayMs))
  rig.advance(3_999)
  await node.settle()
  assert.equal(starts.length, 1)
  for (const ms of [2_001, 18_000, HOUR_MS]) {
    rig.advance(ms)
    await node.settle()
  }
  assert.equal(starts.length, 3)
  const [job] = await rig.rows()
  assert.deepEqual([job!.state, job!.attempt], ['failed', 3])
  assert.deepEqual(
    node.runner.figures().attempts.map(({ outcome, count }) => [outcome, count]),
    [
      ['retried', 2],
      ['failed', 1],
    ],
  )
})

eachMigrated('a job that is due soon after another one starts without a poll', async (db) => {
  const rig = rigOf(db)
  const runs: number[] = []
  const run: Run = async () => void runs.push(rig.time.now - START_MS)
  const node = rig.nodeOf([rig.handlerOf('mail', run)])
  await node.settle()
  for (const ms of [1_000, 1_500]) await rig.add('mail', { runAt: START_MS + ms })
  node.runner.polled[0]!.receive(START_MS + 1_000, 0)
  for (const ms of [1_000, 500]) {
    rig.advance(ms)
    assert.ok(node.runner.isDue())
    await node.settle()
  }
  assert.deepEqual(runs, [1_000, 1_500])
})

eachMigrated('two nodes run each job once', async (db) => {
  const rig = rigOf(db)
  const runs: string[] = []
  const run: Run = async ({ id }) => void runs.push(id)
  const nodes = [1, 2].map(() => rig.nodeOf([rig.handlerOf('mail', run)]))
  const ids: string[] = []
  for (let n = 0; n < 30; n++) ids.push(await rig.add('mail'))
  await Promise.all(nodes.map(({ settle }) => settle()))
  await Promise.all(nodes.map(({ settle }) => settle()))
  assert.deepEqual(runs.toSorted(), ids.toSorted())
})

eachMigrated('a node that dies loses its jobs to another one, and its late end', async (db) => {
  const rig = rigOf(db)
  const runs: number[] = []
  const stuck = gate()
  const dead = rig.nodeOf([rig.handlerOf('mail', () => stuck.promise)])
  const other = rig.nodeOf([rig.handlerOf('mail', async ({ attempt }) => void runs.push(attempt))])
  await rig.add('mail')
  await dead.pass()
  await other.settle()
  for (let ms = 0; ms < FAILED_AFTER_MS; ms += HEARTBEAT_MS) {
    assert.deepEqual(runs, [])
    rig.advance(HEARTBEAT_MS)
    await other.settle()
  }
  assert.deepEqual(runs, [2])
  stuck.open()
  await dead.settle()
  const [job] = await rig.rows()
  assert.deepEqual([job!.state, job!.attempt], ['done', 2])
})

eachMigrated(
  'a job that a request begins at an idle node keeps its first heartbeat',
  async (db) => {
    const rig = rigOf(db)
    const work = gate()
    const node = rig.nodeOf([rig.handlerOf('pay', () => work.promise)])
    await node.settle()
    rig.advance(60_000)
    await rig.add('pay')
    const begun = await node.runner.begin(async (tx, hold) => {
      const [job] = await tx.all<DueJob>(sql`SELECT no, id, kind, name, scope, row_key, input,
      attempt + 1 AS attempt, schedule, caller_group, caller FROM gh_jobs`)
      return (await claimJob(tx, job!, hold)) ? job : undefined
    })
    await node.pass()
    work.open()
    await begun!.ended
    const [job] = await rig.rows()
    assert.deepEqual([job!.state, job!.attempt, job!.error], ['done', 1, null])
  },
)

eachMigrated('a job that ends its node at each attempt fails for good', async (db) => {
  const rig = rigOf(db)
  let runs = 0
  const dying: Run = () => {
    runs += 1
    return new Promise(() => {})
  }
  await rig.add('fatal')
  for (let n = 0; n < 5; n++) {
    const node = rig.nodeOf([rig.handlerOf('fatal', dying, { attempts: 2 })])
    for (let ms = 0; ms <= FAILED_AFTER_MS; ms += HEARTBEAT_MS) {
      rig.advance(HEARTBEAT_MS)
      // One pass renews and takes over, one starts jobs, one stores their ends.
      for (let pass = 0; pass < 3; pass++) await node.pass()
    }
  }
  assert.equal(runs, 2)
  const [job] = await rig.rows()
  assert.deepEqual(
    [job!.state, job!.error],
    ['failed', 'Error: the node ended during the last attempt'],
  )
})

eachMigrated('a node with heartbeats keeps a long job', async (db) => {
  const rig = rigOf(db)
  const long = gate()
  const busy = rig.nodeOf([rig.handlerOf('report', () => long.promise)])
  const other = rig.nodeOf([rig.handlerOf('report', async () => assert.fail('ran twice'))])
  await rig.add('report')
  await busy.pass()
  for (let ms = 0; ms < 3 * FAILED_AFTER_MS; ms += HEARTBEAT_MS) {
    rig.advance(HEARTBEAT_MS)
    await busy.pass()
    await other.settle()
  }
  long.open()
  await busy.settle()
  assert.deepEqual(
    (await rig.rows()).map(({ state }) => state),
    ['done'],
  )
})

eachMigrated('a claim whose response was lost is released', async (db) => {
  const rig = rigOf(db)
  const runs: string[] = []
  const long = gate()
  const node = rig.nodeOf([
    rig.handlerOf('long', () => long.promise),
    rig.handlerOf('mail', async () => void runs.push('mail')),
  ])
  await rig.add('long')
  await node.pass()
  await rig.add('mail')
  await db.write((tx) =>
    tx.run(sql`UPDATE gh_jobs SET state = 'running', attempt = 1,
      node = (SELECT node FROM gh_jobs WHERE name = 'long') WHERE name = 'mail'`),
  )
  await node.pass()
  assert.deepEqual(runs, [])
  rig.advance(HEARTBEAT_MS)
  await node.pass()
  await node.pass()
  long.open()
  await node.settle()
  assert.deepEqual(runs, ['mail'])
  assert.deepEqual(
    (await rig.rows()).map(({ state, attempt }) => [state, attempt]),
    [
      ['done', 1],
      ['done', 2],
    ],
  )
})

eachMigrated('jobs of one row run in order, also when the first one is retried', async (db) => {
  const rig = rigOf(db)
  const runs: string[] = []
  let faults = 1
  const run =
    (name: string): Run =>
    async () => {
      if (name === 'first' && faults-- > 0) throw new Error('not yet')
      runs.push(name)
    }
  const names = ['first', 'second', 'third', 'other']
  const node = rig.nodeOf(names.map((name) => rig.handlerOf(name, run(name))))
  for (const name of names) {
    await rig.add(name, name === 'other' ? { rowKey: 'row 2' } : { rowKey: 'row 1' })
  }
  await node.settle()
  assert.deepEqual(runs, ['other'])
  rig.advance(6_000)
  await node.settle()
  assert.deepEqual(runs, ['other', 'first', 'second', 'third'])
})

eachMigrated('a recurring job has one next run, also on several nodes', async (db) => {
  const rig = rigOf(db)
  const runs: string[] = []
  const handler = (expression: string) => {
    const next = parseSchedule(expression, START_MS)
    assert.ok(typeof next === 'function')
    const run: Run = async ({ input }) => {
      runs.push(new Date(JSON.parse(input).due_at).toISOString().slice(0, 16))
      if (runs.length === 1) throw new Error('once')
    }
    return rig.handlerOf('report', run, { kind: 'schedule', schedule: { expression, next } })
  }
  const nodes = [1, 2].map(() => rig.nodeOf([handler('30 3 * * *')]))
  const settle = async () => {
    for (const node of nodes) await node.settle()
  }
  await settle()
  assert.deepEqual(
    (await rig.rows()).map(({ state, run_at }) => [state, new Date(run_at).toISOString()]),
    [['waiting', '2027-03-02T03:30:00.000Z']],
  )
  rig.advance(72 * HOUR_MS)
  await settle()
  rig.advance(6_000)
  await settle()
  assert.deepEqual(runs, ['2027-03-04T03:30', '2027-03-04T03:30'])
  const states = (await rig.rows()).map(({ state, schedule }) => [state, schedule])
  assert.deepEqual(states, [
    ['done', null],
    ['waiting', 'report'],
  ])
  // A release with another expression moves the waiting run.
  await rig.nodeOf([handler('1h')]).settle()
  const waiting = (await rig.rows()).at(-1)!
  assert.equal(new Date(waiting.run_at).toISOString(), '2027-03-04T11:00:00.000Z')
})

eachMigrated('a run beyond its timeout fails, and its signal aborts', async (db) => {
  const rig = rigOf(db)
  const reasons: string[] = []
  const run = ({ signal }: JobAttempt) =>
    new Promise<void>(() => {
      signal.addEventListener('abort', () => reasons.push(signal.reason.message))
    })
  const node = rig.nodeOf([rig.handlerOf('slow', run, { timeoutMs: 5, attempts: 1 })])
  await rig.add('slow')
  await node.settle()
  assert.deepEqual(reasons, ['the job exceeded its timeout of 5 ms'])
  const [job] = await rig.rows()
  assert.deepEqual(
    [job!.state, job!.error],
    ['failed', 'Error: the job exceeded its timeout of 5 ms'],
  )
})

eachMigrated('a node that stops waits for its jobs, then returns them', async (db) => {
  const rig = rigOf(db)
  const short = gate()
  const node = rig.nodeOf([
    rig.handlerOf('short', () => short.promise),
    rig.handlerOf('endless', () => new Promise<void>(() => {})),
  ])
  await rig.add('short')
  await rig.add('endless')
  await node.pass()
  await rig.add('short')
  short.open()
  await node.runner.drain(1)
  await node.pass()
  assert.deepEqual(
    (await rig.rows()).map(({ name, state, attempt }) => [name, state, attempt]),
    [
      ['short', 'done', 1],
      ['endless', 'waiting', 0],
      ['short', 'waiting', 0],
    ],
  )
})

eachMigrated('a node runs ten jobs at a time, and only those that it declares', async (db) => {
  const rig = rigOf(db)
  const all = gate()
  const node = rig.nodeOf([rig.handlerOf('mail', () => all.promise)])
  await rig.add('of a later release')
  for (let n = 0; n < 12; n++) await rig.add('mail')
  await node.pass()
  await node.pass()
  assert.equal(node.runner.figures().running, 10)
  all.open()
  await node.settle()
  const waiting = (await rig.rows()).filter(({ state }) => state === 'waiting')
  assert.deepEqual(
    waiting.map(({ name }) => name),
    ['of a later release'],
  )
})

eachMigrated('a runner runs no statement until the poll says that a job is due', async (db) => {
  let statementCount = 0
  const all: Database['all'] = (statement) => {
    statementCount += 1
    return db.all(statement)
  }
  const rig = rigOf({ ...db, all })
  const attempts: number[] = []
  const run = async () => void attempts.push(rig.time.now - START_MS)
  const { runner } = rig.nodeOf([rig.handlerOf('mail', run)])
  const pollAndPass = async (ms: number) => {
    for (const { select, receive } of runner.polled) {
      receive((await db.arrays(sql`SELECT ${select()}`))[0]![0]!, 0)
    }
    for (const until = rig.time.now + ms; rig.time.now < until; rig.advance(250)) {
      while (runner.isDue()) await runner.pass()
    }
  }
  await pollAndPass(10_000)
  statementCount = 0
  await pollAndPass(60_000)
  await rig.add('mail', { runAt: START_MS + 90_000 })
  await rig.add('undeclared', { runAt: START_MS })
  await pollAndPass(15_000)
  assert.equal(statementCount, 0)
  await pollAndPass(10_000)
  assert.deepEqual(attempts, [90_000])
})

eachMigrated('jobs are purged a day after they are done, 30 days after they failed', async (db) => {
  const rig = rigOf(db)
  const fail = async () => {
    throw new Error('no')
  }
  const node = rig.nodeOf([
    rig.handlerOf('mail', async () => {}),
    rig.handlerOf('broken', fail, { attempts: 1 }),
  ])
  for (const name of ['mail', 'broken', 'undeclared']) await rig.add(name)
  await node.settle()
  const names = async () => (await rig.rows()).map(({ name, state }) => `${name} ${state}`)
  assert.equal(await purgeJobs(db, rig.clock), 0)
  rig.advance(24 * HOUR_MS)
  assert.equal(await purgeJobs(db, rig.clock), 1)
  assert.deepEqual(await names(), ['broken failed', 'undeclared waiting'])
  rig.advance(29 * 24 * HOUR_MS)
  const releasedAt = rig.clock.now() - HOUR_MS
  for (const heldUntil of [Number.POSITIVE_INFINITY, releasedAt]) {
    await purgeJobs(db, rig.clock, [], heldUntil)
    assert.deepEqual(await names(), ['undeclared waiting'], 'a quarantine has held it')
  }
  await purgeJobs(db, rig.clock)
  assert.deepEqual(await names(), ['undeclared failed'])
  const next = parseSchedule('1h', START_MS)
  assert.ok(typeof next === 'function')
  const schedule = { expression: '1h', next }
  await rig.nodeOf([rig.handlerOf('hourly', fail, { kind: 'schedule', schedule })]).pass()
  rig.advance(31 * 24 * HOUR_MS)
  assert.equal(await purgeJobs(db, rig.clock, ['hourly']), 1)
  assert.deepEqual(await names(), ['hourly waiting'], 'a quarantine lasted for long')
  assert.equal(await purgeJobs(db, rig.clock), 1)
  assert.deepEqual(await names(), [])
})
