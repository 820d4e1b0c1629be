/** A report of a promotion whose commit has an unknown outcome is one row of the audit trail. */
import assert from 'node:assert/strict'
import { eachMigrated, quietLog } from '../../../../test/rig/databases.ts'
import { reportLostEvents } from '../../src/history/events/promotions.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { storageUnavailable } from '../../src/platform/storage/transaction.ts'

eachMigrated('a report that is repeated after a lost response is stored once', async (db) => {
  let isLost = true
  const write: Database['write'] = async (change, options) => {
    const result = await db.write(change, options)
    if (isLost) throw storageUnavailable('the connection broke after the commit')
    return result
  }
  const report = reportLostEvents({
    db: { ...db, write },
    log: quietLog,
    recent: { add() {}, take: () => [] },
    clock: wallClock,
    random: systemRandom(),
    trail: {
      ...{ tag: () => '', onCommit() {}, node: 'n' },
      isOpenWarrant: async () => true,
      warrantFor: (reason) => ({ ...reason, proof: '' }),
      ...{ proveClearing: async () => {}, replaceDetail: async () => {} },
    },
  })
  const count = async () => {
    const text = sql`SELECT count(*) AS count FROM gh_audit WHERE action = 'database.promoted'`
    return (await db.get(text))!.count
  }
  await assert.rejects(report({ from: 1, to: 2 }), { code: 'storage_unavailable' })
  isLost = false
  await report({ from: 1, to: 2 })
  assert.equal(await count(), 1)
  await report({ from: 2, to: 3 })
  assert.equal(await count(), 2, 'another promotion')
})
