/** A snapshot does not change while others write. */
import assert from 'node:assert/strict'
import { eachDatabase } from '../../../../test/rig/databases.ts'
import type { Database, Reader } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

async function withTable(db: Database): Promise<void> {
  await db.migrate(async (_tx, ddl) => ddl(`CREATE TABLE t (id ${db.dialect.types.int})`))
}

const insert = (db: Database) => db.write((tx) => tx.run(sql`INSERT INTO t (id) VALUES (1)`))
const count = async (reader: Reader) => (await reader.get(sql`SELECT count(*) AS n FROM t`))?.n

function createGate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open, opened }
}

eachDatabase('all reads of a snapshot see the same state', async (db) => {
  await withTable(db)
  await insert(db)
  const first = createGate()
  const written = createGate()
  const counts = db.snapshot(async (reader) => {
    const before = await count(reader)
    first.open()
    await written.opened
    return [before, await count(reader), (await reader.all(sql`SELECT id FROM t`)).length]
  })
  await first.opened
  await insert(db)
  assert.equal(await count(db), 2)
  written.open()
  assert.deepEqual(await counts, [1, 1, 1])
  assert.equal(await db.snapshot(count), 2)
})

eachDatabase('the next snapshot runs after one that fails', async (db) => {
  await withTable(db)
  const failure = new Error('failure')
  await assert.rejects(
    db.snapshot(async () => {
      throw failure
    }),
    failure,
  )
  assert.equal(await db.snapshot(count), 0)
})

eachDatabase('many concurrent snapshots each return their rows', async (db) => {
  await withTable(db)
  await insert(db)
  const counts = await Promise.all(Array.from({ length: 50 }, () => db.snapshot(count)))
  assert.deepEqual(counts, Array(50).fill(1))
})
