/** The arithmetic of a load, with costs whose results are round numbers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planScale, type StatedLoad, type UnitCost } from './plan.ts'

const cost = (nodeMicros: number, databaseMicros: number, walBytes: number): UnitCost => ({
  nodeMicros,
  databaseMicros,
  walBytes,
  statements: 1,
  transactions: 1,
  storedBytes: walBytes,
})

const costs = {
  row: cost(100, 50, 0),
  page: cost(200, 100, 0),
  write: cost(500, 400, 2_000),
  delivery: cost(300, 100, 1_000),
}

const load: StatedLoad = {
  requests: 10_000,
  writePart: 0.2,
  rowPart: 0.4,
  deliveries: 1_000,
  databaseCores: 2,
  walBytesMax: 10_000_000,
  connectionsMax: 50,
  connectionsPerNode: 25,
  utilization: 0.5,
}

test('a load has its nodes, cores, bytes and connections', () => {
  const plan = planScale(costs, load)
  // 4,000 × 100 + 4,000 × 200 + 2,000 × 500 + 1,000 × 300 µs = 2.5 s of a core each second.
  assert.equal(plan.nodes, 5)
  assert.equal(plan.primaryCores, 3)
  assert.equal(plan.primaryCoresBesideReplicas, 1.8)
  assert.equal(plan.replicas, 1)
  assert.equal(plan.walBytesPerSecond, 5_000_000)
  assert.equal(plan.storedBytesPerDay, 5_000_000 * 86_400)
  assert.equal(plan.connections, 125)
})

test('each stage names its first bottleneck and the part of the load that it carries', () => {
  const { stages } = planScale(costs, load)
  assert.deepEqual(
    stages.map(({ part, bottleneck }) => [Math.round(part * 100), bottleneck]),
    [
      [20, 'CPU of the node'],
      [67, 'CPU of the primary'],
      [40, 'connections'],
      [67, 'CPU of the primary'],
      [100, 'log of the primary'],
    ],
  )
})
