/**
 * §18.10: a clock that differs from that of the database is named. Most clocks decide which one is
 * wrong, and what the node is ready for.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachMigrated, quietLog } from '../../../../test/rig/databases.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import type { Log } from '../../src/kernel/log.ts'
import { createClockDifference } from '../../src/operate/system/clock-difference.ts'
import {
  deleteFormerNodes,
  endNode,
  listRunningNodes,
  purgeEndedNodes,
  type RunningNode,
  storeNode,
} from '../../src/platform/nodes/registry.ts'
import { checkClock, describeClocks, readClocks } from '../../src/platform/nodes/server-clock.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const NODE = 'api-1'
const AHEAD_MS = 600_000

const clockAheadBy = (ms: number) => ({ ...wallClock, now: () => wallClock.now() + ms })

/** Stores the last report of a node, by a clock that is ahead of the database's. */
async function report(db: Database, name: string, aheadMs: number): Promise<void> {
  const seenAt = wallClock.now() + aheadMs
  const node: RunningNode = {
    id: name,
    name,
    slot: 0,
    facts: '{}',
    columns: {},
    keyIds: [],
    seenAt,
  }
  await storeNode(db, node)
}

/** Returns the sentence, and what a node is ready for whose clock is ahead. */
async function assess(db: Database, aheadMs: number) {
  const clock = clockAheadBy(aheadMs)
  const difference = createClockDifference({ db, clock, log: quietLog, node: NODE })
  for (const { select, receive } of difference.polled) {
    const [row] = await db.arrays(sql`SELECT ${select()}`)
    receive(row![0]!, 0)
  }
  const [outvoted, unknown] = [await difference.check(), await difference.writeCheck()]
  const sentence = String(await difference.warning())
  const ready = outvoted ? 'for nothing' : unknown ? 'for reads' : 'for all'
  return { sentence, ready, started: await start(db, aheadMs) }
}

const start = (db: Database, aheadMs: number) =>
  checkClock(db, { clock: clockAheadBy(aheadMs), log: quietLog, node: NODE }).then(
    () => true,
    ({ name }: Error) => name,
  )

eachMigrated('a clock that is wrong by 2 s warns, by 60 s the node stores nothing', async (db) => {
  let aheadMs = 0
  const clock = { ...wallClock, now: () => wallClock.now() + aheadMs }
  const warnings: string[] = []
  const log = { ...quietLog, warn: (_: unknown, line: string) => warnings.push(line) }
  const of = { db, clock, log: log as unknown as Log, node: NODE }
  const difference = createClockDifference(of)
  const isPostgres = db.name === 'postgres'
  const states: unknown[] = []
  for (aheadMs of [0, 30_000, 30_000, -90_000, 0]) {
    for (const { select, receive } of difference.polled) {
      const [row] = await db.arrays(sql`SELECT ${select()}`)
      receive(row![0]!, 0)
    }
    const seconds = Number((await difference.metric.read())[0]!.value)
    if (isPostgres) assert.ok(Math.abs(seconds + aheadMs / 1000) < 20, String(seconds))
    const { warning, check, writeCheck } = difference
    states.push([await warning(), await check(), await writeCheck()].map(Boolean))
  }
  const [fine, warned, refused] = [
    [false, false, false],
    [isPostgres, false, false],
    [isPostgres, false, isPostgres],
  ]
  assert.deepEqual(states, [fine, warned, warned, refused, fine])
  assert.equal(warnings.length, isPostgres ? 1 : 0, 'one line until the clock is right again')
})

eachMigrated('with other nodes, the clock of the fewest is wrong', async (db) => {
  if (db.name !== 'postgres') return
  const alone = await assess(db, AHEAD_MS)
  assert.match(
    alone.sentence,
    /^The clock of this node is 600(\.\d)? s ahead of .*Synchronise both/,
  )
  assert.deepEqual([alone.ready, alone.started], ['for reads', 'ClockError'])

  await report(db, 'api-2', AHEAD_MS)
  const agreed = await assess(db, AHEAD_MS)
  assert.match(
    agreed.sentence,
    /^The clock of the database's machine is \S+ s behind those of this node and 1 other node,/,
  )
  assert.deepEqual([agreed.ready, agreed.started], ['for all', true])

  await report(db, 'api-3', 0)
  const split = await assess(db, AHEAD_MS)
  assert.deepEqual([split.ready, split.started], ['for reads', 'ClockError'])

  await report(db, 'api-4', 0)
  const outvoted = await assess(db, AHEAD_MS)
  assert.match(outvoted.sentence, /^The clock of this node .* with which 2 other nodes agree\./)
  assert.deepEqual([outvoted.ready, outvoted.started], ['for nothing', 'ClockError'])
  assert.deepEqual((await assess(db, 0)).ready, 'for all')
})

eachMigrated('a node that ended, or has this name, says nothing about clocks', async (db) => {
  if (db.name !== 'postgres') return
  await report(db, NODE, AHEAD_MS)
  await report(db, 'api-2', AHEAD_MS - 60_000)
  await report(db, 'api-3', AHEAD_MS)
  await endNode(db, 'api-3', wallClock.now() + AHEAD_MS)
  assert.equal((await assess(db, AHEAD_MS)).ready, 'for reads')
})

/** Returns the sentence of a node whose clock is ahead; the reports are by those of others. */
function describeAt(aheadMs: number, reports: readonly number[]): string {
  const now = Date.UTC(2026, 10, 30)
  const value = JSON.stringify([now, reports.map((ms) => now + ms)])
  const times = { sentMs: now + aheadMs, receivedMs: now + aheadMs }
  return describeClocks(readClocks(value, times)) ?? ''
}

const OF_DATABASE = /^The clock of the database's machine is \S+ s behind those of this node and 1/
const OF_NODE = /^The clock of this node is \S+ s ahead of the database's, with which 1 other node /
const UNKNOWN =
  /^The clock of this node is \S+ s ahead of the database's, and no other node shows which /

for (const [title, aheadMs, reports, sentence] of [
  ['of a promoted standby', 20_000, [19_000], OF_DATABASE],
  ['of a promoted standby, by little', 4_000, [3_500], OF_DATABASE],
  ['of the node', 20_000, [-3_000], OF_NODE],
  ['of the node, by little', 4_000, [-4_000], OF_NODE],
  ['of which no other node runs', 20_000, [], UNKNOWN],
  ['on which nodes disagree', 20_000, [19_000, -1_000], UNKNOWN],
  ['of which the report is late', 20_000, [10_000], UNKNOWN],
  ['of which the report may be by either', 4_000, [0], UNKNOWN],
] as const) {
  test(`below a minute, the clock that stands alone is named: one ${title}`, () => {
    assert.match(describeAt(aheadMs, reports), sentence)
  })
}

eachMigrated('a node that was killed while its clock was ahead counts as gone', async (db) => {
  await report(db, 'api-2', 40 * 86_400_000)
  await report(db, 'api-3', 0)
  const now = wallClock.now()
  const names = (await listRunningNodes(db, now)).map(({ name }) => name)
  assert.deepEqual(names, ['api-3'], 'for commands')
  assert.equal(await deleteFormerNodes(db, 'api-2', now), 1, 'for a node of its name')
  await report(db, 'api-2', 40 * 86_400_000)
  assert.equal(await purgeEndedNodes(db, now), 1, 'without one')
})
