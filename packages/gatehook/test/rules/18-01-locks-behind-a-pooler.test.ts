/** §18.1: behind a pooler, a request waits no longer for locks than without one. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl, quietLog } from '../../../../test/rig/databases.ts'
import { hasPgbouncer, startPgbouncer } from '../../../../test/rig/pgbouncer.ts'
import { Failure } from '../../src/kernel/failure.ts'
import type { Tx } from '../../src/platform/storage/database.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { describeStorageFailure } from '../../src/platform/storage/storage-failure.ts'

const skip = !hasPgbouncer && 'pgbouncer is not installed'
const customer = { customer: 1 }

/** Starts a pooler that has `size` connections; returns the function that opens the database. */
async function startPooler(t: TestContext, url: string, size: number) {
  const pooler = await startPgbouncer(url, size)
  onEnd(t, pooler.stop)
  return async () => {
    const target = { url: pooler.through(url), pooler: 'transaction' } as const
    const db = await openDatabase(target, { log: quietLog })
    onEnd(t, () => db.close())
    return db
  }
}

/** Waits for a lock several times, as a statement does that queues for a row. */
const LOCK_OFTEN = `DO $$ BEGIN
  FOR n IN 1..4 LOOP
    BEGIN
      PERFORM pg_advisory_xact_lock(7);
    EXCEPTION WHEN lock_not_available THEN
      NULL;
    END;
  END LOOP;
END $$`

test('a statement has one limit for all of its waits for locks', { skip }, async (t) => {
  const url = await freshUrl(t, 'postgres')
  const holder = new pg.Client(url)
  await holder.connect()
  onEnd(t, () => holder.end())
  await holder.query('SELECT pg_advisory_lock(7)')
  const db = await (await startPooler(t, url, 4))()
  const lock = (tx: Tx) => tx.run({ sql: '', text: LOCK_OFTEN, values: [] })
  await assert.rejects(db.write(lock, customer), (error) => {
    assert.ok(error instanceof Failure && error.code === 'storage_unavailable')
    assert.match(String(describeStorageFailure(error)), /lock of/)
    return true
  })
})

test('the limit of a lock decreases by the wait for the pooler', { skip }, async (t) => {
  const url = await freshUrl(t, 'postgres')
  const open = await startPooler(t, url, 1)
  const [db, other] = [await open(), await open()]
  const limitOf = (tx: Tx) =>
    tx.get(sql`SELECT setting AS ms FROM pg_settings WHERE name = 'lock_timeout'`)
  await db.write(limitOf, customer) // its connection to the pooler is open now
  const isBusy = Promise.withResolvers<void>()
  const busy = other.write(async (tx) => {
    await tx.get(sql`SELECT 1 AS one`)
    isBusy.resolve()
    await tx.get(sql`SELECT pg_sleep(1.1)`)
  })
  await isBusy.promise
  const limitMs = Number((await db.write(limitOf, customer))!.ms)
  await busy
  assert.ok(limitMs >= 1_000 && limitMs < 5_000, `${limitMs} ms`)
})
