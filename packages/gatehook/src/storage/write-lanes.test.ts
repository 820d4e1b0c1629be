/** §11.5: a write waits for one long transaction of other customers at most (SQLite). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LONG_MS, WriteLanes } from './write-lanes.ts'

const job = (customer: string | undefined, name: string) => ({ customer, name })
type Job = ReturnType<typeof job>
const namesOf = (lanes: WriteLanes<Job>): string[] => {
  const next = lanes.begin()
  const names: string[] = []
  for (let taken = next(); taken; taken = next()) names.push(taken.name)
  return names
}

test('long transactions of a customer take turns with the batches of the others', () => {
  const lanes = new WriteLanes<Job>()
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
  const batches = [namesOf(lanes), namesOf(lanes)]
  lanes.add(job('b', 'b2'))
  while (lanes.length > 0) batches.push(namesOf(lanes))
  assert.deepEqual(batches, [['a1'], ['b1', 'engine'], ['c1'], ['b2'], ['a2'], ['a3']])
})

test('a customer whose transaction was short commits with the others again', () => {
  const lanes = new WriteLanes<Job>()
  lanes.note(job('a', 'a0'), LONG_MS)
  for (const name of ['a1', 'a2', 'a3']) lanes.add(job('a', name))
  assert.deepEqual(namesOf(lanes), ['a1'])
  lanes.note(job('a', 'a1'), 1)
  assert.deepEqual(namesOf(lanes), ['a2', 'a3'])
  assert.equal(lanes.length, 0)
})

test('all transactions are removed at once', () => {
  const lanes = new WriteLanes<Job>()
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
