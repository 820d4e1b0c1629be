/** Purges of expired rows are bounded statements, and of two nodes that run at once one works. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import type { Database, Tx } from '../../src/platform/storage/database.ts'
import { purgeExpired } from '../../src/platform/storage/purge.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { purgeRecords } from '../../src/protocol/idempotency/store.ts'
import { quotaCounts } from '../../src/protocol/quota/tables.ts'

const ROWS = 2_500
const SERIES = sql`WITH RECURSIVE series(n) AS
  (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < ${ROWS}) SELECT n FROM series`

async function fill(db: Database): Promise<void> {
  const numbers = (await db.arrays(SERIES)).map(([n]) => n as number)
  await db.write(async (tx) => {
    for (const n of numbers) {
      const id = Buffer.from(String(n).padStart(32, '0'))
      await tx.run(sql`INSERT INTO gh_idempotency (scope, id, fingerprint, expires_at)
        VALUES (2, ${id}, ${id}, ${n})`)
      await tx.run(sql`INSERT INTO gh_quota (subject, period, used, used_at, expires_at)
        VALUES ('a', ${n}, 1, 0, ${n})`)
    }
  })
}

/** Returns the database with a record of the rows that each statement deletes. */
function recordDeletions(db: Database): { db: Database; counts: number[] } {
  const counts: number[] = []
  const write: Database['write'] = (change, options) =>
    db.write((tx) => {
      const run: Tx['run'] = async (statement) => {
        const count = await tx.run(statement)
        counts.push(count)
        return count
      }
      return change(new Proxy(tx, { get: (of, name) => (name === 'run' ? run : bound(of, name)) }))
    }, options)
  return { db: { ...db, write }, counts }
}

const bound = (tx: Tx, name: string | symbol) => {
  const member = Reflect.get(tx, name)
  return typeof member === 'function' ? member.bind(tx) : member
}

eachMigrated('a purge deletes at most 1,000 rows in a statement', async (db) => {
  await fill(db)
  const { db: recorded, counts } = recordDeletions(db)
  assert.equal(await purgeRecords(recorded, ROWS - 1), ROWS - 1)
  assert.equal(await purgeExpired(recorded, [quotaCounts], ROWS - 1), ROWS - 1)
  assert.ok(Math.max(...counts) <= 1_000, String(counts))
  const [left] = await db.all(sql`SELECT expires_at FROM gh_quota`)
  assert.equal(left!.expires_at, ROWS, 'a row that is not expired stays')
})

eachMigrated('two purges at once delete each row once', async (db) => {
  await fill(db)
  const counts = await Promise.all([1, 2].map(() => purgeExpired(db, [quotaCounts], ROWS)))
  assert.equal(counts[0]! + counts[1]!, ROWS)
})
