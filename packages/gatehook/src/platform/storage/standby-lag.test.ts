import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from './database.ts'
import { createStandbyLags } from './standby-lag.ts'

test('the lag of a standby grows while the server repeats its last one', async () => {
  let nowMs = 0
  const standby = { pid: 7, standby: 's1', lag_s: 0.01 }
  let row = { ...standby, replayed: '0/10', current: '0/10' }
  const db = { name: 'postgres', all: async () => [row] } as unknown as Database
  const read = createStandbyLags(db, { elapsedMs: () => nowMs })
  const lagAfter = async (ms: number, current: string, replayed: string) => {
    nowMs += ms
    row = { ...row, current, replayed }
    return (await read()).get('s1')
  }
  assert.equal(await lagAfter(0, '0/10', '0/10'), 0.01)
  assert.equal(await lagAfter(15_000, '0/20', '0/1F'), 0.01, 'it lacks the last moment only')
  assert.equal(await lagAfter(15_000, '0/30', '0/1F'), 15)
  assert.equal(await lagAfter(15_000, '0/40', '0/1F'), 30)
  assert.equal(await lagAfter(15_000, '0/50', '0/4F'), 0.01, 'it has what it lacked')
  assert.equal(await lagAfter(15_000, '0/60', '0/4F'), 15)
  row = { ...row, pid: 8 }
  assert.equal(await lagAfter(15_000, '0/70', '0/4F'), 0.01, 'it has connected again')
})
