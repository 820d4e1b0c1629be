/** §18.10: the item of server errors has the cause of the latest ones, and ends soon after them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { createAttentionReader } from '../../src/operate/monitoring/attention.ts'
import type { ErrorCause } from '../../src/operate/monitoring/attention-store.ts'
import { addSeriesCounts } from '../../src/operate/monitoring/count-store.ts'
import { positionAt } from '../../src/operate/monitoring/position.ts'
import { causeOf } from '../../src/operate/monitoring/request-record.ts'
import { SeriesCounter } from '../../src/operate/monitoring/series-counter.ts'
import { monitoringTables } from '../../src/operate/monitoring/tables.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { createTable } from '../../src/platform/storage/table-ddl.ts'
import type { Exchange } from '../../src/protocol/http/exchange.ts'
import { registryOf } from '../monitoring/nodes.ts'

const BEGIN_MS = Date.UTC(2026, 10, 28)
const MINUTE_MS = 60_000
const KEY = { customer: '', mode: '', caller: '', version: '' }

/** SQLite has the tables in a file of their own. */
async function addTables(db: Database): Promise<void> {
  if (db.name === 'postgres') return
  const apart = monitoringTables.filter((table) => table.apart)
  await db.migrate(async (_tx, ddl) => {
    for (const table of apart) for (const text of createTable(db.dialect, table)) await ddl(text)
  })
}

eachMigrated('server errors have the cause of the latest, and end', async (db) => {
  await addTables(db)
  const state: { now: number; own: ErrorCause | undefined } = { now: BEGIN_MS, own: undefined }
  const clock = { now: () => state.now, elapsedMs: () => state.now }
  const readAttention = createAttentionReader({
    ...{ db, monitoring: db, clock, versions: () => [], lockHolders: () => [] },
    fullServer: () => undefined,
    ...{ nodes: registryOf(db, clock), isAway: () => false },
    ...{ jobTimeoutMs: () => undefined },
    lastCause: () => state.own,
  })
  const fail = async (count: number, cause: string | null, aheadMs = 0) => {
    const series = new SeriesCounter()
    for (let n = 0; n < count; n++) series.count(state.now + aheadMs, KEY, 503, 1)
    const position = positionAt(state.now + aheadMs)
    await db.write(async (tx) => {
      for (const statement of addSeriesCounts('n', series.take())) await tx.run(statement)
      await tx.run(sql`INSERT INTO gh_monitoring_requests (position, id, method, path, route, kind,
        stage, status, took_ms, ip, cause) VALUES (${position}, ${`req_${position}`}, 'GET', '/',
        '/', 'versioned', 1, 503, 1, '', ${cause})`)
    })
  }
  const pass = async (ms: number) => {
    state.now += ms
    const [item] = await readAttention()
    return item && [item.severity, (item.facts as { readonly cause: string | null }).cause]
  }
  await fail(30, 'the pooler hangs')
  assert.deepEqual(await pass(10_000), ['bad', 'the pooler hangs'])
  state.own = { cause: 'the primary is away', atMs: state.now }
  assert.deepEqual(await pass(10_000), ['bad', 'the primary is away'], 'the store is away, too')
  assert.deepEqual(await pass(MINUTE_MS), ['info', null], 'the cause has ended')
  await fail(30, 'the disk is full')
  assert.deepEqual(await pass(10_000), ['bad', 'the disk is full'], 'of another node')
  await pass(MINUTE_MS / 2)
  await fail(30, null)
  assert.deepEqual(await pass(10_000), ['bad', null], 'earlier failures had another cause')
  await fail(30, 'the disk was full', 60 * MINUTE_MS)
  assert.deepEqual(await pass(2 * MINUTE_MS), ['info', null], 'no later error')
  state.own = { cause: 'the resolver has no answer', atMs: state.now }
  const ahead = 'a node whose clock was ahead recorded the earlier failure'
  assert.deepEqual(await pass(10_000), ['bad', 'the resolver has no answer'], ahead)
  state.own = undefined
  assert.deepEqual(await pass(2 * MINUTE_MS), ['info', null])
  assert.equal(await pass(4 * MINUTE_MS), undefined)
})

test('writes without a synchronous standby have a cause, and other failures none', () => {
  const options = { db: { fault: () => undefined }, declaredKinds: new Map() }
  const causeOfFailure = (failure: string) => causeOf({ failure } as Exchange, options)
  assert.match(causeOfFailure('durability_lost') ?? '', /no synchronous standby/)
  assert.equal(causeOfFailure('upstream_failed'), null)
})
