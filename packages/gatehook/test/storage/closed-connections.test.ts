/** A closed database leaves no connection open: a process that refuses to start ends at once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { freshUrl, migratedUrl, quietLog } from '../../../../test/rig/databases.ts'
import { queryAsAdmin } from '../../../../test/rig/postgres.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { createCommitPosition } from '../../src/platform/storage/commit-position.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { withReplicas } from '../../src/platform/storage/replica-reads.ts'
import { raw } from '../../src/platform/storage/sql.ts'
import { jsonOf, ownProcess, sentencesOf } from '../cli/command.ts'

const GATEHOOK_SECRET_KEY = 'k'.repeat(32)

test('a start that is refused ends its process, with replicas as without', async (t) => {
  const url = await freshUrl(t, 'postgres')
  const place = {
    cwd: emptyFolder(t),
    env: { GATEHOOK_DATABASE_URL: url, GATEHOOK_DATABASE_READ_URLS: url, GATEHOOK_SECRET_KEY },
  }
  await jsonOf(place, 'migrate')
  await queryAsAdmin(url, 'CREATE SCHEMA away; ALTER TABLE orders SET SCHEMA away')
  const result = await ownProcess(place, 'start', '--port', '0')
  assert.equal(result.exit, 78)
  assert.match(sentencesOf(result).join('\n'), /The table orders of the service is missing/)
})

test('a comparison that ends after the replicas are closed opens none', async (t) => {
  const database = await openDatabase(await migratedUrl(t, 'postgres'), { log: quietLog })
  const compared = Promise.withResolvers<never>()
  const primary = { ...database, get: () => compared.promise }
  let opened = 0
  const open = async () => {
    opened++
    return database
  }
  const shared = { clock: wallClock, log: quietLog, outageMs: 0 }
  const commits = createCommitPosition()
  const { db } = withReplicas({ ...shared, primary, commits, open: [open] })
  await db.write((tx) => tx.run(raw('SELECT 1')))
  await db.close()
  compared.reject(new Error('the primary is away'))
  await nextTurn()
  assert.equal(opened, 0)
})
