/** §12.1, §18.10: a node knows its readiness without probes, and queries little for it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '../../../../test/rig/databases.ts'
import { createReadiness } from '../../src/operate/system/readiness.ts'

test('heartbeats without probes say within a minute that a check fails, or passes', async () => {
  let nowMs = 0
  let fault: string | undefined
  let queries = 0
  const write = {
    writes: async () => {
      queries++
      return fault
    },
    draining: () => undefined,
  }
  const clock = { elapsedMs: () => nowMs }
  const free = new Set(['draining'])
  const readiness = createReadiness({
    read: {},
    write,
    heartbeat: write,
    free,
    clock,
    log: quietLog,
  })
  let changes = 0
  readiness.onChange(() => changes++)
  const heartbeats = async (seconds: number) => {
    let reasons: readonly { check: string }[] = []
    for (const endMs = nowMs + seconds * 1000; nowMs < endMs; nowMs += 5000) {
      reasons = await readiness.recall()
    }
    return reasons.map(({ check }) => check)
  }
  assert.deepEqual(await heartbeats(5), [])
  fault = 'the disk is full'
  assert.deepEqual(await heartbeats(70), ['writes'])
  fault = undefined
  assert.deepEqual(await heartbeats(70), [])
  assert.deepEqual([queries, changes], [3, 2])
  await readiness.assess('write')
  await heartbeats(60)
  assert.equal(queries, 4, 'a probe saves the node its own run')
})
