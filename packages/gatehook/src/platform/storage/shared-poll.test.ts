/** The poll of a node: when it runs, and what a request waits for. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Log } from '../../kernel/log.ts'
import type { Database, Value } from './database.ts'
import { createSharedPoll, IDLE_POLL_MS, POLL_MS } from './shared-poll.ts'
import { sql } from './sql.ts'

const CHECK_MS = 250
const log = { warn() {} } as unknown as Log

/** A poll over a database that returns `answers.value`, with a clock that the test moves. */
function openPoll(t: TestContext, { shared = true } = {}) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const time = { now: 0, elapsedMs: 0 }
  const answers: { value: Value; error?: Error; pending?: PromiseWithResolvers<void> } = {
    value: 1,
  }
  const counts = { polls: 0 }
  const received: Value[] = []
  const db = {
    dialect: { shared },
    async arrays() {
      counts.polls++
      await answers.pending?.promise
      if (answers.error) throw answers.error
      return [[answers.value]]
    },
  } as unknown as Database
  const clock = { now: () => time.now, elapsedMs: () => time.elapsedMs }
  const poll = createSharedPoll({ db, clock, log })
  poll.start([{ select: () => sql`1`, receive: (value) => void received.push(value) }])
  /** Moves the clock in the steps of the poll's timer; returns the number of polls. */
  const pass = async (ms: number): Promise<number> => {
    const before = counts.polls
    for (let step = 0; step < ms / CHECK_MS; step++) {
      time.now += CHECK_MS
      time.elapsedMs += CHECK_MS
      t.mock.timers.tick(CHECK_MS)
      await new Promise((resolve) => setImmediate(resolve))
    }
    return counts.polls - before
  }
  return { poll, time, answers, counts, received, pass }
}

test('an idle node polls every 5 s on PostgreSQL, and each second on SQLite', async (t) => {
  const shared = openPoll(t)
  await shared.pass(10_000)
  assert.equal(await shared.pass(60_000), 60_000 / IDLE_POLL_MS)
  t.mock.timers.reset()
  const sole = openPoll(t, { shared: false })
  assert.equal(await sole.pass(60_000), 60_000 / POLL_MS)
})

test('a node polls each second while requests arrive, and no request waits', async (t) => {
  const { poll, counts, pass } = openPoll(t)
  await pass(1_000)
  for (let second = 0; second < 30; second++) {
    assert.equal(poll.refresh(), undefined)
    await pass(1_000)
  }
  assert.ok(Math.abs(counts.polls - 31) <= 1, String(counts.polls))
})

test('a request at an idle node waits for one poll, which it shares', async (t) => {
  const { poll, answers, received, counts, pass } = openPoll(t)
  await pass(30_000)
  await pass(2_000)
  answers.value = 2
  const before = counts.polls
  await Promise.all([poll.refresh(), poll.refresh()])
  assert.equal(counts.polls - before, 1)
  assert.equal(received.at(-1), 2)
  assert.equal(poll.refresh(), undefined)
})

test('a request continues when the poll fails, and the node says so', async (t) => {
  const { poll, answers, pass } = openPoll(t)
  await pass(1_000)
  assert.equal(poll.check(), undefined)
  answers.error = new Error('no connection')
  await pass(5_000)
  assert.match(poll.check()!, /does not respond/)
  assert.equal(poll.refresh(), undefined, 'no request waits')
  delete answers.error
  await pass(1_000)
  assert.equal(poll.check(), undefined)
})

test('no request waits for a poll that has lasted for a second', async (t) => {
  const { poll, answers, time, pass } = openPoll(t)
  await pass(1_000)
  time.elapsedMs += 3_000
  answers.pending = Promise.withResolvers<void>()
  const first = poll.refresh()
  time.elapsedMs += 1_000
  assert.equal(poll.refresh(), undefined)
  answers.pending.resolve()
  await first
})

test('a jump of the test clock makes a poll due at once', async (t) => {
  const { time, counts, pass } = openPoll(t)
  await pass(30_000)
  const before = counts.polls
  time.now += 86_400_000
  await pass(CHECK_MS)
  assert.equal(counts.polls - before, 1)
})

test('a stopped poll, and one that never started, delay no request', async (t) => {
  const { poll, pass, counts } = openPoll(t)
  await pass(1_000)
  await poll.stop()
  const before = counts.polls
  assert.equal(poll.refresh(), undefined)
  assert.equal(await pass(20_000), 0)
  assert.equal(counts.polls, before)
})
