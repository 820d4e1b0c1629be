import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FairQueue, type Queued } from './fair-queue.ts'

interface Endpoint extends Queued {
  readonly name: string
}

/** An endpoint of live mode. */
const endpointOf = (name: string, customer: number, cost = 1): Endpoint => ({
  name,
  customer,
  scope: customer * 2 + 1,
  cost,
})

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
  for (let n = 0; n < 50; n++) queue.add(endpointOf('many', 1))
  queue.add(endpointOf('one', 2))
  const served = serve(queue, 1_000)
  assert.ok(Math.abs(served.get('many')! - served.get('one')!) <= 8, String([...served]))
})

test('a large delivery costs turns in proportion to its size', () => {
  const queue = new FairQueue<Endpoint>()
  queue.add(endpointOf('large', 1, 16))
  queue.add(endpointOf('small', 2))
  const served = serve(queue, 1_700)
  assert.ok(Math.abs(served.get('small')! / served.get('large')! - 16) < 1, String([...served]))
})

test('endpoints of a customer take turns', () => {
  const queue = new FairQueue<Endpoint>()
  for (const name of ['a', 'b', 'c']) queue.add(endpointOf(name, 1))
  const served = serve(queue, 300)
  for (const count of served.values()) assert.ok(Math.abs(count - 100) <= 4, String([...served]))
})

test('the queue is empty after removals, and while its customers are blocked', () => {
  const queue = new FairQueue<Endpoint>()
  const [a, b, c] = ['a', 'b', 'c'].map((name, at) => endpointOf(name, at >> 1))
  for (const endpoint of [a!, b!, c!]) queue.add(endpoint)
  queue.block(0)
  assert.equal(queue.next(), c)
  queue.remove(c!)
  assert.equal(queue.next(), undefined)
  queue.add(a!)
  assert.equal(queue.next(), undefined, 'it was added to a blocked customer')
  queue.remove(b!)
  queue.unblockAll()
  assert.equal(queue.next(), a)
  queue.add(a!)
  queue.remove(a!)
  assert.equal(queue.next(), undefined)
})

test('the modes of a customer get equal shares, with any number of endpoints', () => {
  const queue = new FairQueue<Endpoint>()
  const live = endpointOf('live', 1)
  queue.add(live)
  for (let n = 0; n < 50; n++) queue.add({ ...endpointOf('test', 1), scope: 2 })
  const served = serve(queue, 1_000)
  assert.ok(Math.abs(served.get('live')! - 500) <= 1, String([...served]))
})

test('a gate that closes after each delivery does not change whose turn it is', () => {
  for (const order of ['opens first', 'opens last'] as const) {
    const queue = new FairQueue<Endpoint>()
    const endpoints = ['a', 'b', 'c'].map((name) => endpointOf(name, 1))
    const test = { ...endpointOf('test', 1), scope: 2 }
    for (const endpoint of [...endpoints, test]) queue.add(endpoint)
    const served = new Map<string, number>()
    for (let n = 0; n < 120; n++) {
      const [[name, count]] = [...serve(queue, 1)] as [[string, number]]
      served.set(name, (served.get(name) ?? 0) + count)
      queue.block(1)
      assert.equal(queue.next(), undefined)
      // Time passes, and every endpoint is offered again in a fixed order.
      if (order === 'opens first') queue.unblockAll()
      for (const endpoint of [...endpoints, test]) queue.add(endpoint)
      if (order === 'opens last') queue.unblock(1)
    }
    const counts = [...served].sort().map(([, count]) => count)
    for (const [at, fair] of [20, 20, 20, 60].entries()) {
      assert.ok(Math.abs(counts[at]! - fair) <= 1, `${order}: ${counts}`)
    }
  }
})

test('an endpoint that leaves during its turn does not skip another one', () => {
  const queue = new FairQueue<Endpoint>()
  for (const [customer, name] of ['a', 'b', 'c', 'd'].entries()) {
    queue.add(endpointOf(name, customer))
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
