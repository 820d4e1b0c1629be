/** §11.5: a write waits for one long transaction of other customers at most (SQLite). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LONG_MS, WriteLanes } from './write-lanes.ts'

/** A clock, and a function that creates jobs. */
function createRig() {
  let nowMs = 0
  const rejected: string[] = []
  const lanes = new WriteLanes<Job>({ elapsedMs: () => nowMs })
  const job = (customer: string | undefined, name: string): Job => {
    return { customer, name, sinceMs: nowMs, reject: () => void rejected.push(name) }
  }
  const advance = (ms: number) => {
    nowMs += ms
  }
  return { lanes, job, advance, rejected }
}
interface Job {
  readonly customer: string | undefined
  readonly caller?: string
  readonly name: string
  readonly sinceMs: number
  readonly reject: (reason: unknown) => void
}
const namesOf = (lanes: WriteLanes<Job>): string[] => {
  const next = lanes.begin()
  const names: string[] = []
  for (let taken = next(); taken; taken = next()) names.push(taken.name)
  return names
}

test('long transactions of a customer take turns with the batches of the others', () => {
  const { lanes, job, advance } = createRig()
  const first = job('a', 'a0')
  lanes.add(first)
  assert.deepEqual(namesOf(lanes), ['a0'])
  for (const name of ['a1', 'a2']) lanes.add(job('a', name))
  lanes.note(first, LONG_MS)
  lanes.note(job('c', 'c0'), LONG_MS)
  for (const name of ['c1', 'a3']) lanes.add(job(name[0], name))
  lanes.add(job('b', 'b1'))
  lanes.add(job(undefined, 'engine'))
  assert.equal(lanes.length, 6)
  advance(LONG_MS * 10)
  const batches = [namesOf(lanes), namesOf(lanes)]
  lanes.add(job('b', 'b2'))
  while (lanes.length > 0) batches.push(namesOf(lanes))
  assert.deepEqual(batches, [['a1'], ['b1', 'engine'], ['c1'], ['b2'], ['a2'], ['a3']])
})

test('a customer whose transaction was short commits with the others again', () => {
  const { lanes, job } = createRig()
  lanes.note(job('a', 'a0'), LONG_MS)
  for (const name of ['a1', 'a2', 'a3']) lanes.add(job('a', name))
  assert.deepEqual(namesOf(lanes), ['a1'])
  lanes.note(job('a', 'a1'), 1)
  assert.deepEqual(namesOf(lanes), ['a2', 'a3'])
  assert.equal(lanes.length, 0)
})

test('beside others a long transaction rests 19 times what the last one took beyond 20 ms', () => {
  const { lanes, job, advance } = createRig()
  lanes.add(job('b', 'b0'))
  assert.deepEqual(namesOf(lanes), ['b0'])
  lanes.note(job('a', 'a0'), 50)
  lanes.add(job('a', 'a1'))
  assert.equal(lanes.restMs, 570)
  assert.deepEqual(namesOf(lanes), [])
  lanes.add(job('b', 'b1'))
  assert.equal(lanes.restMs, 0)
  assert.deepEqual(namesOf(lanes), ['b1'])
  advance(570)
  assert.equal(lanes.restMs, 0)
  assert.deepEqual(namesOf(lanes), ['a1'])
})

test('customers with long transactions do not rest for each other', () => {
  const { lanes, job, advance } = createRig()
  for (const customer of ['a', 'b']) lanes.note(job(customer, customer), 50)
  advance(5_000)
  for (const name of ['a1', 'b1']) lanes.add(job(name[0], name))
  lanes.note(job('a', 'a1'), 50)
  assert.equal(lanes.restMs, 0)
})

test('beside others each customer rests for its own transactions only, until the close', () => {
  const { lanes, job } = createRig()
  lanes.add(job('c', 'c1'))
  lanes.note(job('a', 'a0'), 250)
  lanes.note(job('b', 'b0'), LONG_MS)
  for (const name of ['a1', 'b1']) lanes.add(job(name[0], name))
  const batches = [namesOf(lanes), namesOf(lanes), namesOf(lanes)]
  assert.deepEqual(batches, [['c1'], ['b1'], []])
  assert.ok(lanes.restMs > 4_000)
  lanes.endRest()
  assert.equal(lanes.restMs, 0)
  assert.deepEqual(namesOf(lanes), ['a1'])
})

test('a long transaction that waited for more than ten seconds is rejected at its turn', () => {
  const { lanes, job, advance, rejected } = createRig()
  lanes.note(job('a', 'a0'), LONG_MS)
  lanes.add(job('a', 'a1'))
  advance(1)
  lanes.add(job('a', 'a2'))
  advance(10_000)
  assert.deepEqual(namesOf(lanes), ['a2'])
  assert.deepEqual(rejected, ['a1'])
  assert.equal(lanes.length, 0)
})

test('all transactions are removed at once', () => {
  const { lanes, job } = createRig()
  lanes.note(job('a', 'a0'), LONG_MS)
  for (const customer of ['a', 'b', undefined]) lanes.add(job(customer, String(customer)))
  assert.deepEqual(
    lanes
      .clear()
      .map(({ name }) => name)
      .sort(),
    ['a', 'b', 'undefined'],
  )
  assert.equal(lanes.length, 0)
})

test('long transactions of a caller delay no short one of another caller of the customer', () => {
  const { lanes, job, advance } = createRig()
  const of = (caller: string, name: string): Job => ({ ...job('a', name), caller })
  lanes.add(job('b', 'b0'))
  assert.deepEqual(namesOf(lanes), ['b0'])
  lanes.note(of('slow', 's0'), 10 * LONG_MS)
  for (const name of ['s1', 's2']) lanes.add(of('slow', name))
  lanes.add(job('b', 'b1'))
  for (const name of ['q1', 'q2']) lanes.add(of('quick', name))
  assert.deepEqual(namesOf(lanes), ['b1', 'q1', 'q2'])
  assert.ok(lanes.restMs > 0, 'the customer rests beside another one')
  lanes.note(of('other', 'o0'), 10 * LONG_MS)
  lanes.add(of('other', 'o1'))
  advance(100_000)
  const late = [of('slow', 's3'), of('other', 'o2')]
  for (const added of late) lanes.add(added)
  assert.deepEqual(namesOf(lanes), ['o2'], 'callers take turns; what waited too long is rejected')
})
