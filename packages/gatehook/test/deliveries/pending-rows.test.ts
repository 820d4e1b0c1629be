/** Decision 0083: indexes of pending deliveries find those that are due, by plans of any age. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import { dueRows } from '../../src/outbound/deliveries/due-rows.ts'
import { dueStore } from '../../src/outbound/deliveries/due-store.ts'
import type { Database, Reader, Statement } from '../../src/platform/storage/database.ts'
import { raw, sql } from '../../src/platform/storage/sql.ts'

const SCOPE = 10 as Scope
const endpoint = { no: 1, scope: SCOPE }

const insert = (db: Database, id: string, at: number | null, webhook = 1) =>
  db.write((tx) =>
    tx.run(sql`INSERT INTO gh_deliveries
      (id, scope, webhook_no, event_id, event_type, version, state, next_attempt_at, created_at)
      VALUES (${id}, ${SCOPE}, ${webhook}, 'evt_1', 'a.b', 'v1',
        ${at === null ? 'delivered' : 'pending'}, ${at}, 0)`),
  )

eachMigrated('a window has the first due deliveries that are not in memory', async (db) => {
  await insert(db, 'dlv_e', 100)
  await insert(db, 'dlv_d', 100)
  await insert(db, 'dlv_c', null)
  await insert(db, 'dlv_b', 90, 2)
  await insert(db, 'dlv_a', 200)
  await insert(db, 'dlv_9', 300)
  const read = async (now: number, loaded: readonly string[], limit: number, from = 0) => {
    const span = { from, now }
    const batch = await dueRows(db).readDueDeliveries(endpoint, span, new Set(loaded), limit)
    return [batch.rows.map(({ id }) => id).join(' '), batch.nextDueAt]
  }
  assert.deepEqual(await read(200, [], 10), ['dlv_d dlv_e dlv_a', 300])
  assert.deepEqual(await read(200, ['dlv_d', 'dlv_a'], 10), ['dlv_e', 300])
  assert.deepEqual(await read(200, ['dlv_d'], 1), ['dlv_e', 100])
  assert.deepEqual(await read(300, [], 10), ['dlv_d dlv_e dlv_a dlv_9', undefined])
  assert.deepEqual(await read(300, [], 10, 60_200), ['dlv_a dlv_9', undefined])
  const resent = await dueRows(db).readResentDeliveries(SCOPE, 200, ['dlv_9', 'dlv_a', 'dlv_c'])
  assert.deepEqual(
    resent.map(({ id }) => id),
    ['dlv_a'],
  )
})

/** Returns the statements that a reader gets. */
async function collect(run: (db: Database) => Promise<unknown>): Promise<readonly Statement[]> {
  const statements: Statement[] = []
  const arrays: Reader['arrays'] = async (statement) => {
    statements.push(statement)
    return []
  }
  await run({ arrays, dialect: {} } as unknown as Database)
  return statements
}

eachMigrated('plans made on empty tables read pending deliveries alone', async (db) => {
  if (db.name !== 'postgres') return
  const statements = await collect(async (reader) => {
    await dueRows(reader).readDueDeliveries(endpoint, { from: 0, now: 0 }, new Set(), 10)
    await dueStore(reader).readDuePage(0, 1)
    await dueStore(reader).readEndpointSlice(0, 10)
  })
  assert.equal(statements.length, 4)
  for (const [index, { text, values }] of statements.entries()) {
    const rows = await db.write(async (tx) => {
      await tx.run(sql`SET LOCAL enable_seqscan = off`)
      await tx.run(sql`SET LOCAL plan_cache_mode = force_generic_plan`)
      await tx.run(sql`PREPARE ${raw(`read${index} AS ${text}`)}`)
      return tx.arrays(sql`EXPLAIN EXECUTE ${raw(`read${index}(${values.map(() => 'NULL')})`)}`)
    })
    const reads = rows.map(String).filter((line) => /Scan.* on gh_deliveries/.test(line))
    assert.ok(reads.length > 0)
    for (const read of reads) assert.match(read, /Index Scan using \S+_expr(_scope_\S+)?_idx/)
  }
})
