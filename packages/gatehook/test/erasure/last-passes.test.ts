/**
 * §18.11: after a pass that changed rows, also the last one, an erasure waits until engines have
 * evicted the bodies that it replaced.
 */
import assert from 'node:assert/strict'
import { syncBuiltinESMExports } from 'node:module'
import { test } from 'node:test'
import timers from 'node:timers/promises'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { walkSteps } from '../../src/operate/erasure/slices.ts'

const PASS_REST_MS = 7_000
const SETTLE_MS = 8_000

test('a pass that changed rows is followed by a pause, also the last one', async (t) => {
  const pauses: number[] = []
  const { setTimeout: wait } = timers
  timers.setTimeout = (async (ms) => void pauses.push(ms ?? 0)) as typeof wait
  syncBuiltinESMExports()
  onEnd(t, () => {
    timers.setTimeout = wait
    syncBuiltinESMExports()
  })
  const walk = async (pass: number, changed: number) => {
    pauses.length = 0
    const step = { name: 'rows', slice: async () => ({ changed, next: undefined }) }
    const next = await walkSteps(
      [step],
      { pass, changed: 0 },
      {
        clock: { elapsedMs: () => 0 },
        signal: new AbortController().signal,
        lastPass: 2,
        settleMs: SETTLE_MS,
        passRestMs: PASS_REST_MS,
      },
    )
    return [next?.pass, pauses.filter((ms) => ms >= PASS_REST_MS)]
  }
  assert.deepEqual(await walk(0, 0), [1, [SETTLE_MS]])
  assert.deepEqual(await walk(1, 1), [2, [PASS_REST_MS]])
  assert.deepEqual(await walk(1, 0), [undefined, []])
  assert.deepEqual(await walk(2, 1), [undefined, [PASS_REST_MS]])
  assert.deepEqual(await walk(2, 0), [undefined, []])
})
