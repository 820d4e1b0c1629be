/** §11.5: work beyond that of any request is charged, and other requests have turns meanwhile. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCallWork, TurnRequired } from './call-work.ts'

const BYTES_PER_MS = 40_000
const FREE_BYTES = 65_536

function stage({ restMs = 0, waits = false } = {}) {
  const time = { ms: 0 }
  const charged: number[] = []
  const share = {
    addWork: (key: string | number, ms: number) => {
      assert.equal(key, 'group')
      charged.push(ms)
      return 0
    },
    restMs: () => restMs,
  }
  const work = createCallWork('group', share, { elapsedMs: () => time.ms }, waits)
  const sumMs = () => charged.reduce((sum, ms) => sum + ms, 0)
  return { time, work, sumMs }
}

test('the first 64 KiB are free, the rest is charged, and a turn follows each 64 KiB', async () => {
  const { work, sumMs } = stage()
  let turns = 0
  for (let n = 0; n < 64; n++) {
    const pause = work.count(8_192)
    if (pause) turns += 1
    await pause
    if (n === 7) assert.equal(sumMs(), 0)
  }
  assert.equal(turns, 8)
  assert.ok(Math.abs(sumMs() - (64 * 8_192 - FREE_BYTES) / BYTES_PER_MS) < 1e-9)
})

test('work that takes longer than its bytes is charged by its time', async () => {
  const { time, work, sumMs } = stage()
  const encode = work.measure((text: string) => {
    time.ms += 10
    return text
  })
  const pause = work.count(encode('{}').length)
  assert.ok(pause)
  assert.equal(sumMs(), 10 - FREE_BYTES / BYTES_PER_MS)
  time.ms += 1_000 // the work of others
  assert.equal(work.count(2), undefined)
  assert.ok(sumMs() < 10)
})

test('work that waits stops once, at the bound of any request, while its group rests', () => {
  const { work, sumMs } = stage({ restMs: 5, waits: true })
  assert.ok(work.count(FREE_BYTES))
  assert.throws(() => work.count(1), TurnRequired)
  assert.equal(sumMs(), 0)
  const inTurn = stage({ restMs: 5 })
  inTurn.work.count(2 * FREE_BYTES)
  assert.ok(inTurn.sumMs() > 0)
  const rested = stage({ waits: true })
  rested.work.count(2 * FREE_BYTES)
  assert.ok(rested.sumMs() > 0)
})
