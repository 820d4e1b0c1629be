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
