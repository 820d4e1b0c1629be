import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FairQueue, type Queued } from './fair-queue.ts'

interface Endpoint extends Queued {
  readonly name: string
}

const serve = (queue: FairQueue<Endpoint>, times: number): Map<string, number> => {
  const served = new Map<string, number>()
  for (let n = 0; n < times; n++) {
    const endpoint = queue.next()!
    queue.charge(endpoint, endpoint.cost)
    served.set(endpoint.name, (served.get(endpoint.name) ?? 0) + 1)
  }
  return served
}

test('customers get equal shares, with any number of endpoints', () => {
  const queue = new FairQueue<Endpoint>()
  for (let n = 0; n < 50; n++) queue.add({ name: 'many', customer: 1, cost: 1 })
  queue.add({ name: 'one', customer: 2, cost: 1 })
  const served = serve(queue, 1_000)
  assert.ok(Math.abs(served.get('many')! - served.get('one')!) <= 8, String([...served]))
})

test('a large delivery costs turns in proportion to its size', () => {
  const queue = new FairQueue<Endpoint>()
  queue.add({ name: 'large', customer: 1, cost: 16 })
  queue.add({ name: 'small', customer: 2, cost: 1 })
  const served = serve(queue, 1_700)
  assert.ok(Math.abs(served.get('small')! / served.get('large')! - 16) < 1, String([...served]))
})

test('endpoints of a customer take turns', () => {
  const queue = new FairQueue<Endpoint>()
  for (const name of ['a', 'b', 'c']) queue.add({ name, customer: 1, cost: 1 })
  const served = serve(queue, 300)
  for (const count of served.values()) assert.ok(Math.abs(count - 100) <= 4, String([...served]))
})

test('the queue is empty after removals; removing a customer removes its endpoints', () => {
  const queue = new FairQueue<Endpoint>()
  const [a, b, c] = ['a', 'b', 'c'].map((name, at) => ({ name, customer: at >> 1, cost: 1 }))
  for (const endpoint of [a!, b!, c!]) queue.add(endpoint)
  queue.removeCustomer(0)
  assert.equal(queue.next(), c)
  queue.remove(c!)
  assert.equal(queue.next(), undefined)
  queue.add(a!)
  queue.add(a!)
  assert.equal(queue.next(), a)
  queue.remove(a!)
  assert.equal(queue.next(), undefined)
})

test('an endpoint that leaves during its turn does not skip another one', () => {
  const queue = new FairQueue<Endpoint>()
  for (const [customer, name] of ['a', 'b', 'c', 'd'].entries()) {
    queue.add({ name, customer, cost: 1 })
  }
  const served = new Map<string, number>()
  for (let n = 0; n < 40; n++) {
    const endpoint = queue.next()!
    served.set(endpoint.name, (served.get(endpoint.name) ?? 0) + 1)
    queue.charge(endpoint, 1)
    queue.remove(endpoint)
    queue.add(endpoint)
  }
  assert.deepEqual([...served.values()], [10, 10, 10, 10])
})
