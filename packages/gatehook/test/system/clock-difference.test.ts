/** A node measures its clock against the database's while it runs. */
import assert from 'node:assert/strict'
import { eachDatabase, quietLog } from '../../../../test/rig/databases.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import type { Log } from '../../src/kernel/log.ts'
import { createClockDifference } from '../../src/operate/system/clock-difference.ts'
import { sql } from '../../src/platform/storage/sql.ts'

eachDatabase('a clock that is wrong by 2 s warns, by 60 s the node is not ready', async (db) => {
  let aheadMs = 0
  const clock = { ...wallClock, now: () => wallClock.now() + aheadMs }
  const warnings: string[] = []
  const log = { ...quietLog, warn: (_: unknown, line: string) => warnings.push(line) }
  const difference = createClockDifference({ db, clock, log: log as unknown as Log })
  const isPostgres = db.name === 'postgres'
  const states: unknown[] = []
  for (aheadMs of [0, 30_000, 30_000, -90_000, 0]) {
    for (const { select, receive } of difference.polled) {
      const [row] = await db.arrays(sql`SELECT ${select()}`)
      receive(row![0]!, 0)
    }
    const seconds = Number((await difference.metric.read())[0]!.value)
    if (isPostgres) assert.ok(Math.abs(seconds + aheadMs / 1000) < 20, String(seconds))
    states.push([await difference.warning(), await difference.check()].map(Boolean))
  }
  const [fine, warned, refused] = [
    [false, false],
    [isPostgres, false],
    [isPostgres, isPostgres],
  ]
  assert.deepEqual(states, [fine, warned, warned, refused, fine])
  assert.equal(warnings.length, isPostgres ? 1 : 0, 'one line until the clock is right again')
})
