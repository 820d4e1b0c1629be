/** §18.1: a replication slot that no standby reads is named before it fills the disk. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl, openForTest } from '../../../../test/rig/databases.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { writeChecks } from '../../src/operate/system/health.ts'
import { createReplicationSlots } from '../../src/operate/system/replication-slots.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const SENTENCE =
  'No standby reads the replication slot old, for which the server keeps 382 MiB of WAL, until ' +
  "its disk is full: SELECT pg_drop_replication_slot('old'), or start its standby again."

test('a slot without a reader that keeps much WAL is named', async () => {
  const slots = createReplicationSlots({ name: 'postgres' })
  const poll = (...all: readonly object[]) =>
    slots.polled[0]!.receive(all.length === 0 ? null : JSON.stringify(all), 0)
  const old = { name: 'old', isActive: false, bytes: 382 * 2 ** 20 }
  const used = { name: 'used', isActive: true, bytes: 900 * 2 ** 20 }
  await poll(old, used)
  assert.deepEqual(await slots.warning(), {
    message: 'The database keeps WAL that no standby reads.',
    detail: SENTENCE,
  })
  assert.deepEqual(await slots.metric.read(), [
    { value: old.bytes, labels: { slot: 'old', active: 'false' } },
    { value: used.bytes, labels: { slot: 'used', active: 'true' } },
  ])
  await poll({ ...old, bytes: 2 ** 20 }, used)
  assert.equal(await slots.warning(), undefined, 'a standby that restarts')
  await poll()
  assert.equal(await slots.warning(), undefined)
})

test('a full disk is named with the slot that fills it', async () => {
  const write = () => Promise.reject(new Failure('storage_unavailable'))
  const db = { lacksSpace: () => true, takeSpace: write, write } as unknown as Database
  const full = 'The disk of the database is full. Free space, or enlarge it.'
  assert.deepEqual(await writeChecks(db, wallClock, () => SENTENCE).writes(), {
    message: full,
    detail: `${full} ${SENTENCE}`,
  })
  assert.equal(await writeChecks(db, wallClock).writes(), full)
})

test('the slots of a server are read', async (t) => {
  const db = await openForTest(t, await freshUrl(t, 'postgres'))
  const { polled } = createReplicationSlots(db)
  assert.equal(polled.length, 1)
  await db.arrays(sql`SELECT ${polled[0]!.select()}`)
  assert.deepEqual(createReplicationSlots({ name: 'sqlite' }).polled, [])
})
