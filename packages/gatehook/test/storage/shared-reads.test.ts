/** Reads of one turn of the event loop share a round trip, and each gets its own rows. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { createSharedReads } from '../../src/platform/storage/shared-reads.ts'
import { sql } from '../../src/platform/storage/sql.ts'

eachMigrated('reads of one turn return their own rows, from one snapshot', async (db) => {
  let snapshots = 0
  const snapshot: typeof db.snapshot = (read, options) => {
    snapshots++
    return db.snapshot(read, options)
  }
  const reads = createSharedReads({ ...db, snapshot })
  const numbers = Array.from({ length: 40 }, (_, n) => n)
  const rows = await Promise.all(numbers.map((n) => reads.arrays(sql`SELECT CAST(${n} AS BIGINT)`)))
  assert.deepEqual(rows.flat(2), numbers)
  assert.deepEqual(await reads.get(sql`SELECT 1 AS number`), { number: 1 })
  assert.equal(snapshots, db.dialect.shared ? 2 : 0)
})

eachMigrated('a read that fails rejects those of its round trip, and no later one', async (db) => {
  const reads = createSharedReads(db)
  const read = () => reads.arrays(sql`SELECT 1`)
  const results = await Promise.allSettled([read(), reads.arrays(sql`SELECT missing`)])
  assert.equal(results[1]!.status, 'rejected')
  assert.deepEqual(await read(), [[1]])
})
