/** Long reads: each customer has one at a time, and customers take turns. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachDatabase } from '../../../../test/rig/databases.ts'
import {
  backendGroup,
  createGroupTurns,
  jobGroup,
  personGroup,
} from '../../src/kernel/caller-group.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { scopeOf } from '../../src/kernel/principal.ts'
import { createShare } from '../../src/kernel/share.ts'
import { createTurns } from '../../src/kernel/turns.ts'
import { prepareStatement } from '../../src/platform/storage/sql.ts'

test('one read of a customer runs at a time, and customers take turns', async () => {
  const turns = createTurns(2)
  const started: string[] = []
  const ends: (() => void)[] = []
  const body = (name: string) => () => {
    started.push(name)
    return new Promise<void>((resolve) => void ends.push(resolve))
  }
  const all = ['a1', 'a2', 'a3'].map((name) => turns(1, body(name)))
  all.push(turns(2, body('b1')), turns(3, body('c1')))
  await Promise.resolve()
  assert.deepEqual(started, ['a1', 'b1'])
  ends[0]!()
  await all[0]
  await Promise.resolve()
  // The third customer arrived after two more reads of the first, and runs before them.
  assert.deepEqual(started, ['a1', 'b1', 'c1'])
  ends[1]!()
  await all[3]
  await Promise.resolve()
  assert.deepEqual(started, ['a1', 'b1', 'c1', 'a2'])
  ends[2]!()
  ends[3]!()
  await all[1]
  await Promise.resolve()
  ends[4]!()
  await Promise.all(all)
  assert.deepEqual(started, ['a1', 'b1', 'c1', 'a2', 'a3'])
})

test('a customer runs up to `perKey` reads at once, beside other customers', async () => {
  const turns = createTurns(3, { perKey: 2 })
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const body = (name: string) => () => {
    started.push(name)
    return new Promise<void>((resolve) => void ends.set(name, resolve))
  }
  const all = ['a1', 'a2', 'a3', 'a4'].map((name) => turns(1, body(name)))
  all.push(turns(2, body('b1')), turns(2, body('b2')))
  await Promise.resolve()
  assert.deepEqual(started, ['a1', 'a2', 'b1'])
  ends.get('b1')!()
  await all[4]
  await Promise.resolve()
  assert.deepEqual(started, ['a1', 'a2', 'b1', 'b2'])
  ends.get('a1')!()
  await all[0]
  await Promise.resolve()
  assert.deepEqual(started, ['a1', 'a2', 'b1', 'b2', 'a3'])
  for (const name of ['b2', 'a2', 'a3']) ends.get(name)!()
  await all[2]
  await Promise.resolve()
  ends.get('a4')!()
  await Promise.all(all)
})

test('a failed read frees its slot', async () => {
  const turns = createTurns(1)
  await assert.rejects(
    turns(1, async () => Promise.reject(new Error('broken'))),
    /broken/,
  )
  assert.equal(await turns(1, async () => 'next'), 'next')
})

test('a full queue rejects its customer only', async () => {
  const turns = createTurns(2)
  let end = () => {}
  const held = new Promise<void>((resolve) => {
    end = resolve
  })
  const waiting = Array.from({ length: 65 }, () => turns(1, () => held))
  const overloaded = (error: unknown) => error instanceof Failure && error.code === 'overloaded'
  await assert.rejects(
    turns(1, () => held),
    overloaded,
  )
  assert.equal(await turns(2, async () => 'other'), 'other')
  end()
  await Promise.all(waiting)
})

/** Turns with a share of one tenth, after a burst of 100 ms; the test advances the clock. */
function createLimitedTurns() {
  const time = { ms: 0 }
  const wakes: { atMs: number; wake: () => void }[] = []
  const clock = { elapsedMs: () => time.ms }
  const turns = createTurns(2, {
    rests: {
      ...createShare({ clock, part: 0.1, burstMs: 100 }),
      clock,
      after: (ms, wake) => void wakes.push({ atMs: time.ms + ms, wake }),
    },
  })
  const work = (key: string, ms: number) =>
    turns(key, async () => {
      time.ms += ms
    })
  const advanceTo = (ms: number) => {
    time.ms = ms
    for (const { wake } of wakes.splice(0)) wake()
  }
  return { time, wakes, work, advanceTo }
}

test('after its burst, a customer waits nine times as long as it worked', async () => {
  const { time, wakes, work, advanceTo } = createLimitedTurns()
  await work('a', 60)
  await work('a', 60)
  const third = work('a', 20)
  assert.deepEqual(
    wakes.map(({ atMs }) => atMs),
    [200],
    '120 ms of work need 1,200 ms; the burst covers 1,000 ms and 120 ms have passed',
  )
  await work('b', 10)
  assert.equal(time.ms, 130, 'another customer runs at once')
  advanceTo(200)
  await third
  assert.equal(time.ms, 220)
  // After a long pause the burst is available again, and does not grow.
  time.ms = 100_000
  await work('a', 100)
  await Promise.resolve()
  void work('a', 1)
  assert.deepEqual(
    wakes.map(({ atMs }) => atMs),
    [],
  )
})

test('a wait above 10 s is rejected, before and after it begins', async () => {
  const { wakes, work, advanceTo } = createLimitedTurns()
  const overloaded = (afterS: string) => (error: unknown) =>
    error instanceof Failure &&
    error.code === 'overloaded' &&
    error.headers?.['retry-after'] === afterS
  await work('a', 700)
  const [waiting, late] = [work('a', 5_000), work('a', 1)]
  const rejection = assert.rejects(late, overloaded('1'))
  assert.equal(wakes[0]!.atMs, 6_000)
  advanceTo(6_000)
  await waiting
  // 5,000 ms of work reject the next read at once, and the queued one at its turn.
  await assert.rejects(work('a', 1), overloaded('45'))
  advanceTo(wakes[0]!.atMs)
  await rejection
})

test('a body that waited for the slots of others for more than 10 s is rejected', async () => {
  const time = { ms: 0 }
  const turns = createTurns(1, { clock: { elapsedMs: () => time.ms } })
  const { promise, resolve } = Promise.withResolvers<void>()
  const running = turns('a', () => promise)
  const late = turns('b', async () => assert.fail('a client has left'))
  time.ms = 5_000
  const next = turns('c', async () => 'c')
  time.ms = 10_001
  resolve()
  await running
  await assert.rejects(late, (error) => error instanceof Failure && error.code === 'overloaded')
  assert.equal(await next, 'c')
})

eachDatabase('a walk is a snapshot, and other reads do not wait for it', async (db) => {
  await db.migrate(async (_, ddl) => ddl('CREATE TABLE marks (n INTEGER)'))
  const count = prepareStatement('SELECT count(*) AS n FROM marks')([])
  const insert = () =>
    db.write((tx) => tx.run(prepareStatement('INSERT INTO marks (n) VALUES (?)')([1])))
  await insert()
  const result = await db.longRead(1, async (reader) => {
    const before = Number((await reader.get(count))!.n)
    assert.deepEqual(await reader.arrays(prepareStatement('SELECT n FROM marks')([])), [[1]])
    return { before, reader }
  })
  assert.equal(result.before, 1)
  await assert.rejects(result.reader.get(count), /transaction has ended/)
  await assert.rejects(
    db.longRead(1, (reader) => reader.get(prepareStatement('SELECT missing FROM marks')([]))),
    /missing/,
  )
  assert.equal(Number((await db.longRead(1, (reader) => reader.get(count)))!.n), 1)
})

test('the groups of callers of a customer share its slots, and none fills its queue', async () => {
  const turns = createGroupTurns(3)
  const started: string[] = []
  const ends: (() => void)[] = []
  const use = (group: string, name: string) =>
    turns(group, () => {
      started.push(name)
      return new Promise<void>((resolve) => void ends.push(resolve))
    })
  const [live, testMode] = [scopeOf(1, 'live'), scopeOf(1, 'test')]
  const all = ['p1', 'p2', 'p3'].map((name) => use(personGroup(live), name))
  all.push(use(backendGroup(live), 'k1'), use(backendGroup(testMode), 't1'))
  all.push(use(jobGroup(live), 'j1'), use(backendGroup(scopeOf(2, 'live')), 'other'))
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  await settle()
  assert.deepEqual(started, ['p1', 'other'])
  while (ends.length > 0) {
    ends.shift()!()
    await settle()
  }
  await Promise.all(all)
  assert.deepEqual(started, ['p1', 'other', 'k1', 't1', 'j1', 'p2', 'p3'])
})

test('a group whose customer rests for long is rejected, also in its own queue', async () => {
  const time = { ms: 0 }
  const clock = { elapsedMs: () => time.ms }
  const rests = { ...createShare({ clock, part: 0.1 }), clock, after: () => {} }
  const turns = createGroupTurns(2, { rests })
  const overloaded = (error: unknown) => error instanceof Failure && error.code === 'overloaded'
  const group = backendGroup(scopeOf(1, 'live'))
  const work = turns(group, async () => {
    time.ms += 11_000
  })
  const late = turns(group, async () => 'late')
  await work
  await assert.rejects(late, overloaded)
  assert.throws(() => turns.refuseIfFull(personGroup(scopeOf(1, 'live'))), overloaded)
  turns.refuseIfFull(backendGroup(scopeOf(2, 'live')))
})
