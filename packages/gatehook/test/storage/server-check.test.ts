/** At start, a node compares its clock with the database's and rejects a standby. */
import assert from 'node:assert/strict'
import { eachDatabase, quietLog } from '../../../../test/rig/databases.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import type { Log } from '../../src/kernel/log.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { checkServer } from '../../src/platform/storage/server-check.ts'

const clockAheadBy = (ms: number) => ({ ...wallClock, now: () => wallClock.now() + ms })

eachDatabase(
  'a clock difference above 2 s is logged, above 60 s rejected, with its direction',
  async (db) => {
    const warnings: unknown[] = []
    const log = { ...quietLog, warn: (...line: unknown[]) => warnings.push(line) } as unknown as Log
    await checkServer(db, wallClock, log)
    for (const ms of [1_000, -1_000]) await checkServer(db, clockAheadBy(ms), log)
    assert.equal(warnings.length, 0)
    const isPostgres = db.name === 'postgres'
    for (const ms of [4_000, -4_000]) await checkServer(db, clockAheadBy(ms), log)
    assert.equal(warnings.length, isPostgres ? 2 : 0)
    for (const [ms, sentence] of [
      [90_000, /of this node is (8\d|90)(\.\d)? s ahead of the database's/],
      [-90_000, /of this node is (8\d|90)(\.\d)? s behind the database's/],
    ] as const) {
      const check = checkServer(db, clockAheadBy(ms), log)
      if (isPostgres) await assert.rejects(check, { name: 'StorageError', message: sentence })
      else await check
    }
  },
)

eachDatabase('a standby is rejected with one sentence', async (db) => {
  const standby = {
    name: db.name,
    get: async () => ({ standby: true, now_ms: wallClock.now() }),
  } as unknown as Database
  const check = checkServer(standby, wallClock, quietLog)
  if (db.name === 'postgres') await assert.rejects(check, /is a standby and accepts no writes/)
  else await check
})
