/** §18.10: a node whose heap is nearly full, and one that ended of it again and again, is named. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHeap, describeEnds } from '../../src/operate/system/heap.ts'
import { openNodes } from '../monitoring/nodes.ts'

test('a heap that stays nearly full is named with its limit', async () => {
  const state = { now: 0, used: 0 }
  const limitBytes = 200 * 2 ** 20
  const heap = createHeap({ elapsedMs: () => state.now }, () => ({
    ...{ usedBytes: state.used * limitBytes, limitBytes },
  }))
  const pass = (used: number) => {
    state.now += 5_000
    state.used = used
    return heap.warning()
  }
  for (const used of [0.97, 0.95, 0.4]) assert.equal(await pass(used), undefined, 'garbage')
  for (const used of [0.97, 0.95]) await pass(used)
  assert.match(String(await pass(0.92)), /has 92 % of its heap of 200 MiB in use/)
  assert.deepEqual(await heap.metric.read(), [{ value: limitBytes }])
})

test('ends without notice are counted beyond the rows of the former processes', async (t) => {
  const { open, state } = await openNodes(t)
  const start = async (node: string, heap: number) => {
    const registry = open(node, () => ({ heap }), { name: 'api-1' })
    await registry.heartbeat()
    return registry
  }
  await open('b', () => ({ heap: 0.99 }), { name: 'api-2' }).heartbeat()
  for (const [node, heap] of [
    ['1', 0.2],
    ['2', 0.3],
    ['3', 0.93],
  ] as const) {
    await start(node, heap)
    state.now += 60_000
  }
  const last = await start('4', 0.1)
  assert.deepEqual(
    last.listOwnEnds().map(({ heap }) => heap),
    [0.2, 0.3, 0.93],
  )
  assert.equal(
    describeEnds(last.listOwnEnds()),
    'This node ended 3 times without notice within an hour, the last time with 93 % of its heap ' +
      'in use: raise NODE_OPTIONS=--max-old-space-size=MIB, or find what own code keeps.',
  )
  await last.leave()
  const next = await start('5', 0.1)
  assert.equal(next.listOwnEnds().length, 3, 'an end in order does not count')
  state.now += 3_600_000
  assert.deepEqual(next.listOwnEnds(), [])
})

test('a single end is named if its heap was nearly full', () => {
  assert.equal(describeEnds([{ at: 1, heap: 0.4 }]), undefined)
  assert.match(describeEnds([{ at: 1, heap: 0.9 }])!, /^This node ended once .* 90 % of its heap/)
  const killed = [1, 2].map((at) => ({ at, heap: 0.4 }))
  assert.match(describeEnds(killed)!, /^This node ended 2 times .* it was killed or crashed/)
})
