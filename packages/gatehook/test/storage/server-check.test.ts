/** At start, a node rejects a standby. */
import assert from 'node:assert/strict'
import { eachDatabase } from '../../../../test/rig/databases.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { checkServer } from '../../src/platform/storage/server-check.ts'

eachDatabase('a standby is rejected with one sentence', async (db) => {
  const standby = {
    name: db.name,
    get: async () => ({ standby: true }),
  } as unknown as Database
  const check = checkServer(standby)
  if (db.name === 'postgres') await assert.rejects(check, /is a standby and accepts no writes/)
  else await check
})
