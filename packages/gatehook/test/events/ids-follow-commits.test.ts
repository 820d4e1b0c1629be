/** §9.11: SQLite lists events by ids, so ids follow commits, also when the clock is set back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { createRecorder } from '../../src/history/events/store.ts'
import { scopeOf } from '../../src/kernel/principal.ts'
import { systemRandom } from '../../src/kernel/random.ts'

const sqlite = databases.find(({ name }) => name === 'sqlite')!

test('ids of events increase over several recorders and a clock that is set back', async (t) => {
  const db = await sqlite.openMigrated(t)
  let nowMs = Date.now()
  const clock = { now: () => nowMs, elapsedMs: () => 0 }
  // A recorder of another process, or of the deliveries, knows no id of the first.
  const recorders = [0, 1].map(() =>
    createRecorder({ clock, random: systemRandom(), shape: 'v1', sinks: [] }),
  )
  const ids: string[] = []
  for (const stepMs of [0, 0, -3_600_000, 0, -1, 7_200_000, 0, -1]) {
    nowMs += stepMs
    for (const record of recorders) {
      await db.write(async (tx) => {
        for (const type of ['t.a', 't.b']) {
          const none = { collection: undefined, objectId: undefined }
          ids.push((await record(tx, scopeOf(1, 'test'), { type, ...none, object: '{}' })).id)
        }
      })
    }
  }
  assert.deepEqual(ids.toSorted(), ids)
  assert.equal(new Set(ids).size, 32)
})
