/** Whether password hashes wait for the CPU, and for whom. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHashPace, HASH_PATIENCE_MS } from './hash-pace.ts'

function createMeters() {
  const meters = { ms: 0, cpu: 0 }
  const pace = createHashPace({ elapsedMs: () => meters.ms, cpuMs: () => meters.cpu })
  return { meters, pace }
}

const cases = [
  { title: 'other programs', cpuMs: 40, elapsedMs: HASH_PATIENCE_MS, isStarved: true },
  { title: 'the requests of the node', cpuMs: 950, elapsedMs: HASH_PATIENCE_MS, isStarved: false },
  { title: 'a pause of the process', cpuMs: 40, elapsedMs: 9_000, isStarved: false },
]
for (const { title, cpuMs, elapsedMs, isStarved } of cases) {
  test(`a hash that ${title} hold up: ${isStarved ? 'raised' : 'not raised'}`, () => {
    const { meters, pace } = createMeters()
    const hash = pace.begin()
    meters.ms += elapsedMs
    meters.cpu += cpuMs
    assert.deepEqual([hash.isStarving(), pace.isStarved()], [isStarved, isStarved])
  })
}

test('the state ends a minute after the last hash that competed for the CPU', () => {
  const { meters, pace } = createMeters()
  const first = pace.begin()
  meters.ms += HASH_PATIENCE_MS
  assert.ok(first.isStarving())
  for (let minute = 0; minute < 3; minute++) {
    meters.ms += 50_000
    const hash = pace.begin()
    meters.ms += 130
    meters.cpu += 30
    hash.end({ elapsedMs: 130, cpuMs: 30 })
    assert.ok(pace.isStarved(), 'it takes four times its CPU time')
  }
  meters.ms += 50_000
  const hash = pace.begin()
  meters.ms += 31
  meters.cpu += 30
  hash.end({ elapsedMs: 31, cpuMs: 30 })
  meters.ms += 10_000
  assert.equal(pace.isStarved(), false)
})

test('a slow hash is reported for a minute, a fast one is not, and all are counted', () => {
  const { meters, pace } = createMeters()
  pace.begin().end({ elapsedMs: 25, cpuMs: 24 })
  assert.equal(pace.slow(), undefined)
  pace.begin().end({ elapsedMs: 18_500, cpuMs: 60 })
  assert.equal(pace.slow()?.elapsedMs, 18_500)
  meters.ms += 60_000
  assert.equal(pace.slow(), undefined)
  assert.deepEqual(pace.totals(), { count: 2, elapsedMs: 18_525, cpuMs: 84 })
})
