/** §11.5: the work of a key takes its part of the time, and a burst. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createShare } from './share.ts'

test('work that waits for each rest takes its part of the time and the burst', () => {
  const work = fc.array(fc.record({ ms: fc.nat(2_000), idleMs: fc.nat(5_000) }), { maxLength: 40 })
  fc.assert(
    fc.property(work, fc.constantFrom(0, 100, 2_000), (bodies, burstMs) => {
      let nowMs = 0
      let workedMs = 0
      const share = createShare({ clock: { elapsedMs: () => nowMs }, part: 0.1, burstMs })
      for (const { ms, idleMs } of bodies) {
        nowMs += idleMs
        nowMs += share.restMs('a')
        nowMs += ms
        workedMs += ms
        const restMs = share.addWork('a', ms)
        assert.equal(restMs, share.restMs('a'))
        assert.ok(workedMs <= 0.1 * (nowMs + restMs) + burstMs + 1e-6)
        assert.equal(share.restMs('b'), 0)
      }
    }),
  )
})

test('a key that was alone rests up to a second once another one is active', () => {
  let nowMs = 10_000
  const clock = { elapsedMs: () => nowMs }
  const share = createShare({ clock, part: 0.1, isBesideOthers: true })
  share.note('a')
  assert.equal(share.addWork('a', 20), 0)
  share.note('b')
  assert.equal(share.restMs('a'), 180)
  nowMs += 2_000
  share.note('a')
  assert.equal(share.addWork('a', 5_000), 0)
  share.note('b')
  assert.equal(share.restMs('a'), 1_000)
})
