/** Long reads: a customer has one at a time, and no other customer waits for its queue. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachDatabase } from '../../../../test/rig/databases.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { createTurns } from '../../src/kernel/turns.ts'
import { fixed } from '../../src/storage/sql.ts'

test('one body of a customer runs at a time, and customers take turns', async () => {
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
  // The third customer came later than two bodies of the first, and goes before them.
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

test('as many bodies of a customer run at once as it may have, and others start', async () => {
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

test('a body that fails frees its slot', async () => {
  const turns = createTurns(1)
  await assert.rejects(
    turns(1, async () => Promise.reject(new Error('broken'))),
    /broken/,
  )
  assert.equal(await turns(1, async () => 'next'), 'next')
})

test('a customer whose queue is full is refused, another is not', async () => {
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

/** A tenth of the time, after 100 ms of work; the clock stands still until it is set. */
function restingTurns() {
  const time = { ms: 0 }
  const wakes: { atMs: number; wake: () => void }[] = []
  const turns = createTurns(2, {
    share: {
      ...{ part: 0.1, burstMs: 100, clock: { elapsedMs: () => time.ms } },
      after: (ms, wake) => void wakes.push({ atMs: time.ms + ms, wake }),
    },
  })
  const work = (key: string, ms: number) =>
    turns(key, async () => {
      time.ms += ms
    })
  const passTo = (ms: number) => {
    time.ms = ms
    for (const { wake } of wakes.splice(0)) wake()
  }
  return { time, wakes, work, passTo }
}

test('a customer whose burst is used rests nine times as long as it worked', async () => {
  const { time, wakes, work, passTo } = restingTurns()
  await work('a', 60)
  await work('a', 60)
  const third = work('a', 20)
  assert.deepEqual(
    wakes.map(({ atMs }) => atMs),
    [200],
    '120 ms of work take 1,200 ms, of which 1,000 ms were saved and 120 ms have passed',
  )
  await work('b', 10)
  assert.equal(time.ms, 130, 'another customer does not wait')
  passTo(200)
  await third
  assert.equal(time.ms, 220)
  // Rested for long, it has its burst again, and no more than that.
  time.ms = 100_000
  await work('a', 100)
  await Promise.resolve()
  void work('a', 1)
  assert.deepEqual(
    wakes.map(({ atMs }) => atMs),
    [],
  )
})

test('who would rest for longer than 10 s is refused, before and after waiting', async () => {
  const { wakes, work, passTo } = restingTurns()
  const overloaded = (afterS: string) => (error: unknown) =>
    error instanceof Failure &&
    error.code === 'overloaded' &&
    error.headers?.['retry-after'] === afterS
  await work('a', 700)
  const [waiting, late] = [work('a', 5_000), work('a', 1)]
  const refused = assert.rejects(late, overloaded('1'))
  assert.equal(wakes[0]!.atMs, 6_000)
  passTo(6_000)
  await waiting
  // So much work refuses the next request at once, and the waiting one at its turn.
  await assert.rejects(work('a', 1), overloaded('45'))
  passTo(wakes[0]!.atMs)
  await refused
})

eachDatabase('a walk is a snapshot, and other reads do not wait for it', async (db) => {
  await db.migrate(async (_, ddl) => ddl('CREATE TABLE marks (n INTEGER)'))
  const count = fixed('SELECT count(*) AS n FROM marks')([])
  const insert = () => db.write((tx) => tx.run(fixed('INSERT INTO marks (n) VALUES (?)')([1])))
  await insert()
  const seen = await db.walk(1, async (reader) => {
    const before = Number((await reader.get(count))!.n)
    assert.deepEqual(await reader.arrays(fixed('SELECT n FROM marks')([])), [[1]])
    return { before, reader }
  })
  assert.equal(seen.before, 1)
  await assert.rejects(seen.reader.get(count), /transaction has ended/)
  await assert.rejects(
    db.walk(1, (reader) => reader.get(fixed('SELECT missing FROM marks')([]))),
    /missing/,
  )
  assert.equal(Number((await db.walk(1, (reader) => reader.get(count)))!.n), 1)
})
