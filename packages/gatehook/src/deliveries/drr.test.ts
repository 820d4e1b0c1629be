import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fairness, type Queued } from './drr.ts'

interface Line extends Queued {
  readonly name: string
}

const serve = (fairness: Fairness<Line>, times: number): Map<string, number> => {
  const served = new Map<string, number>()
  for (let n = 0; n < times; n++) {
    const line = fairness.next()!
    fairness.served(line, line.cost)
    served.set(line.name, (served.get(line.name) ?? 0) + 1)
  }
  return served
}

test('customers get the same, however many endpoints they have', () => {
  const fairness = new Fairness<Line>()
  for (let n = 0; n < 50; n++) fairness.add({ name: 'many', customer: 1, cost: 1 })
  fairness.add({ name: 'one', customer: 2, cost: 1 })
  const served = serve(fairness, 1_000)
  assert.ok(Math.abs(served.get('many')! - served.get('one')!) <= 8, String([...served]))
})

test('large deliveries take their turns by size', () => {
  const fairness = new Fairness<Line>()
  fairness.add({ name: 'large', customer: 1, cost: 16 })
  fairness.add({ name: 'small', customer: 2, cost: 1 })
  const served = serve(fairness, 1_700)
  assert.ok(Math.abs(served.get('small')! / served.get('large')! - 16) < 1, String([...served]))
})

test('endpoints of a customer take turns', () => {
  const fairness = new Fairness<Line>()
  for (const name of ['a', 'b', 'c']) fairness.add({ name, customer: 1, cost: 1 })
  const served = serve(fairness, 300)
  for (const count of served.values()) assert.ok(Math.abs(count - 100) <= 4, String([...served]))
})

test('nobody is left when all are removed; a customer goes whole', () => {
  const fairness = new Fairness<Line>()
  const [a, b, c] = ['a', 'b', 'c'].map((name, at) => ({ name, customer: at >> 1, cost: 1 }))
  for (const line of [a!, b!, c!]) fairness.add(line)
  fairness.removeCustomer(0)
  assert.equal(fairness.next(), c)
  fairness.remove(c!)
  assert.equal(fairness.next(), undefined)
  fairness.add(a!)
  fairness.add(a!)
  assert.equal(fairness.next(), a)
  fairness.remove(a!)
  assert.equal(fairness.next(), undefined)
})

test('who leaves in the middle of its turn takes nobody else’s with it', () => {
  const fairness = new Fairness<Line>()
  for (const [customer, name] of ['a', 'b', 'c', 'd'].entries()) {
    fairness.add({ name, customer, cost: 1 })
  }
  const served = new Map<string, number>()
  for (let n = 0; n < 40; n++) {
    const line = fairness.next()!
    served.set(line.name, (served.get(line.name) ?? 0) + 1)
    fairness.served(line, 1)
    fairness.remove(line)
    fairness.add(line)
  }
  assert.deepEqual([...served.values()], [10, 10, 10, 10])
})
