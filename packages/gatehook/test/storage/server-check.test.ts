/** A node compares its clock with the database's at start, and recognises a standby. */
import assert from 'node:assert/strict'
import { eachDatabase, quietLog } from '../../../../test/rig/databases.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import type { Log } from '../../src/kernel/log.ts'
import type { Database } from '../../src/storage/database.ts'
import { checkServer } from '../../src/storage/server-check.ts'

const aheadBy = (ms: number) => ({ ...wallClock, now: () => wallClock.now() + ms })

eachDatabase('a clock that differs by 5 s is reported, by 60 s refused', async (db) => {
  const warnings: unknown[] = []
  const log = { ...quietLog, warn: (...line: unknown[]) => warnings.push(line) } as unknown as Log
  await checkServer(db, wallClock, log)
  for (const ms of [1_000, -1_000]) await checkServer(db, aheadBy(ms), log)
  assert.equal(warnings.length, 0)
  const isPostgres = db.name === 'postgres'
  for (const ms of [10_000, -10_000]) await checkServer(db, aheadBy(ms), log)
  assert.equal(warnings.length, isPostgres ? 2 : 0)
  for (const ms of [90_000, -90_000]) {
    const checked = checkServer(db, aheadBy(ms), log)
    if (isPostgres) await assert.rejects(checked, { name: 'StorageError', message: /by (89|90)/ })
    else await checked
  }
})

eachDatabase('a standby is refused in one sentence', async (db) => {
  const standby = {
    name: db.name,
    get: async () => ({ standby: true, now_ms: wallClock.now() }),
  } as unknown as Database
  const checked = checkServer(standby, wallClock, quietLog)
  if (db.name === 'postgres') await assert.rejects(checked, /is a standby and accepts no writes/)
  else await checked
})
