/** A node reads its data again when the feed may have lost entries before it read them. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import {
  createRevocationFeed,
  NOTICE_RETENTION_MS,
  publishCustomerChange,
} from '../../src/identity/tokens/revocation-feed.ts'

eachMigrated('a jump of the test clock, which purges notices, counts as a pause', async (db) => {
  const START_MS = Date.UTC(2027, 0, 1)
  let nowMs = START_MS
  const clock = { now: () => nowMs, elapsedMs: () => 0 }
  let gaps = 0
  const seen: string[] = []
  const onEntry = (_kind: string, value: string) => void seen.push(value)
  const feed = createRevocationFeed({ db, clock, onEntry, onGap: () => void gaps++ })
  for (let n = 0; n < 2; n++) await feed.poll()
  assert.equal(gaps, 1, 'the first read follows a pause')
  await db.write((tx) => publishCustomerChange(tx, 'acme', START_MS))
  nowMs += 2 * NOTICE_RETENTION_MS
  assert.equal(await feed.purge(), 1)
  await feed.poll()
  assert.deepEqual([seen, gaps], [[], 2])
  await feed.poll()
  assert.equal(gaps, 2)
})
