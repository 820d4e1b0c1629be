/** Idempotency records have ids with a day, and a request runs once across days (decision 0053). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  databases,
  eachMigrated,
  migratedUrl,
  openForTest,
} from '../../../../test/rig/databases.ts'
import { migrateEngine } from '../../src/engine-tables.ts'
import { scopeOf } from '../../src/kernel/principal.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { Vault } from '../../src/kernel/secret.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { readPartitions } from '../../src/platform/storage/partitions/catalog.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import type { Call } from '../../src/protocol/http/call.ts'
import { Query } from '../../src/protocol/http/query.ts'
import { createPerform } from '../../src/protocol/idempotency/perform.ts'
import { recordIdsAt } from '../../src/protocol/idempotency/record-ids.ts'
import { purgeRecords } from '../../src/protocol/idempotency/store.ts'
import { recordTable } from '../../src/protocol/idempotency/tables.ts'
import { startWork } from '../fixtures/uncounted-work.ts'
import { readRequestRecords } from './request-records.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const random = systemRandom()
const vault = new Vault('a secret that only tests know, long enough', random)
/** A midnight far behind the creation of the database. */
const MIDNIGHT_MS = Math.ceil(Date.now() / DAY_MS + 50) * DAY_MS

const callOf = (key: string) =>
  ({
    method: 'POST',
    path: '/x',
    version: undefined,
    query: Query.empty,
    body: {},
    bytes: new Uint8Array(),
    headers: {},
    rawHeaders: ['Idempotency-Key', key],
    principal: { scope: scopeOf(1, 'live'), kind: 'key', subject: 's', scopes: new Set() },
    startWork,
    hasOldAuthority: () => false,
  }) as unknown as Call

/** A node with a clock of its own, and the number of requests that it has run. */
function openNode(db: Database, nowMs: number) {
  const node = { nowMs, runs: 0, isSecret: false, hold: async () => {} }
  const perform = createPerform({ db, vault, clock: { now: () => node.nowMs, elapsedMs: () => 0 } })
  const send = async (key = 'k') => {
    const answer = await perform(callOf(key), async (tx) => {
      node.runs++
      await tx.get(sql`SELECT 1 AS sent`)
      await node.hold()
      return { status: 201, json: '{"id":1}', ...(node.isSecret && { secret: true }) }
    })
    return answer.headers?.['idempotent-replayed'] === 'true'
  }
  return Object.assign(node, { send })
}

const idsOf = async (db: Database) =>
  (await readRequestRecords(db)).map(({ id }) => Buffer.from(id).toString('hex'))

for (const [first, second] of [
  [-1_000, 1_000],
  [1_000, -1_000],
  [-30_000, 59_000],
  [-HOUR_MS, 22 * HOUR_MS],
] as const) {
  const name = `a request at ${first} ms from midnight is replayed at ${second} ms`
  eachMigrated(name, async (db) => {
    const [claimer, other] = [first, second].map((ms) => openNode(db, MIDNIGHT_MS + ms))
    assert.equal(await claimer!.send(), false)
    assert.equal(await other!.send(), true)
    assert.deepEqual([claimer!.runs, other!.runs], [1, 0])
    assert.equal((await idsOf(db)).length, 1)
  })
}

eachMigrated('a record expires after a day, also on the next one', async (db) => {
  const node = openNode(db, MIDNIGHT_MS - HOUR_MS)
  await node.send()
  node.nowMs += DAY_MS - 1
  assert.equal(await node.send(), true)
  node.nowMs += 1
  assert.equal(await node.send(), false)
  assert.equal(await node.send(), true)
  assert.equal(node.runs, 2)
})

const postgres = databases.find(({ name }) => name === 'postgres')!

for (const [first, second] of [
  [-1_000, 1_000],
  [1_000, -1_000],
] as const) {
  test(`of two nodes at midnight, one runs a request: ${first} and ${second} ms`, async (t) => {
    const url = await migratedUrl(t, 'postgres')
    const [a, b] = await Promise.all([openForTest(t, url), openForTest(t, url)])
    const [claimer, other] = [openNode(a, MIDNIGHT_MS + first), openNode(b, MIDNIGHT_MS + second)]
    const [inside, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    claimer.hold = async () => {
      inside.resolve()
      await goOn.promise
    }
    const running = claimer.send()
    await inside.promise
    const waiting = other.send()
    const isWaiting = sql`SELECT 1 AS waits FROM pg_stat_activity WHERE wait_event_type = 'Lock'
      AND datname = current_database()`
    while (other.runs === 0 && !(await a.get(isWaiting)));
    goOn.resolve()
    assert.deepEqual(await Promise.all([running, waiting]), [false, true])
    assert.deepEqual([claimer.runs, other.runs], [1, 0])
  })
}

test('a claim locks the request near midnight only, under the ids of all days', () => {
  const hash = Buffer.alloc(32, 7)
  const timesAt = (ms: number) => ({ now: MIDNIGHT_MS + ms, since: MIDNIGHT_MS + ms })
  const at = (ms: number) => recordIdsAt(hash, timesAt(ms))
  const isLocked = (ms: number) => at(ms).lock !== undefined
  const minutes = [-10, -11, 9, 11].map((minute) => isLocked(minute * 60_000))
  assert.deepEqual(minutes, [true, false, true, false])
  for (const ms of [-1, 0, HOUR_MS]) {
    const { current, others } = at(ms)
    assert.ok(at(ms - DAY_MS).current.equals(others[0]))
    assert.ok(at(ms + DAY_MS).current.equals(others[1]))
    assert.ok(!others.some((other) => other.equals(current)))
  }
})

test('the records of a day are dropped together, and secrets after an hour', async (t) => {
  const db = await postgres.open(t)
  await migrateEngine(db, { clock: { now: () => MIDNIGHT_MS, elapsedMs: () => 0 } })
  const node = openNode(db, MIDNIGHT_MS + HOUR_MS)
  await node.send('a')
  node.nowMs = MIDNIGHT_MS + DAY_MS - 1
  await node.send('b')
  node.isSecret = true
  await node.send('secret')
  assert.equal(await purgeRecords(db, node.nowMs + HOUR_MS - 1), 0)
  assert.equal(await purgeRecords(db, node.nowMs + HOUR_MS), 1)
  assert.equal((await idsOf(db)).length, 2)
  assert.equal(await purgeRecords(db, MIDNIGHT_MS + 2 * DAY_MS), 0)
  assert.equal((await idsOf(db)).length, 2, 'an expired record of a day is deleted with the day')
  await purgeRecords(db, MIDNIGHT_MS + 2 * DAY_MS + HOUR_MS)
  assert.deepEqual(await idsOf(db), [])
  const [past, first] = await readPartitions(db, recordTable)
  assert.equal(past!.to, first!.from)
  assert.equal(recordTable.timeOf(first!.from!), MIDNIGHT_MS + DAY_MS)
})
