/** §11.5: a transaction that changes totals keeps no other one waiting until it commits. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import type { Database, Tx } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { addToTotal, readTotal } from '../../src/protocol/lists/counters.ts'

const SCOPE = 1
const IDS = Array.from({ length: 32 }, (_, n) => n)
const add = (tx: Tx, ids: readonly number[] = IDS) => {
  for (const id of ids) addToTotal(tx, SCOPE, 'tasks', id, 1)
}
/** Sends what the transaction has collected. */
const send = (tx: Tx) => tx.get(sql`SELECT 1 AS one`)
const total = (db: Database) => readTotal(db, SCOPE, 'tasks')

eachMigrated('another transaction changes the same totals meanwhile', async (db) => {
  if (!db.dialect.shared) return
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const first = db.write(async (tx) => {
    add(tx)
    await send(tx)
    begun.resolve()
    await ended.promise
  })
  await begun.promise
  await db.write(async (tx) => add(tx, IDS.toReversed()))
  ended.resolve()
  await first
  assert.equal(await total(db), 2 * IDS.length)
})

eachMigrated('a part that was undone adds nothing', async (db) => {
  await db.write(async (tx) => {
    add(tx, [1])
    await tx
      .attempt(async () => {
        add(tx)
        await send(tx)
        throw new Error('undone')
      })
      .catch(() => undefined)
    add(tx, [2])
  })
  assert.equal(await total(db), 2)
})

eachMigrated('own code reads the totals that it has changed', async (db) => {
  await db.write(
    async (tx) => {
      add(tx)
      assert.equal(await readTotal(tx, SCOPE, 'tasks'), IDS.length)
    },
    { serializable: true },
  )
  assert.equal(await total(db), IDS.length)
})
