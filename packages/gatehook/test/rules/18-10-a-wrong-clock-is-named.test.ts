/**
 * §18.10: a clock that differs from that of the database is named. Most clocks decide which one is
 * wrong, and what the node is ready for.
 */
import assert from 'node:assert/strict'
import { eachMigrated, quietLog } from '../../../../test/rig/databases.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import type { Log } from '../../src/kernel/log.ts'
import { createClockDifference } from '../../src/operate/system/clock-difference.ts'
import { endNode, type RunningNode, storeNode } from '../../src/platform/nodes/registry.ts'
import { checkClock } from '../../src/platform/nodes/server-clock.ts'
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
