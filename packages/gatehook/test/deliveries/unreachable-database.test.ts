/** §18.7: a database that goes away during a start ends it as one that was away before. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl, quietLog } from '../../../../test/rig/databases.ts'
import { freePort } from '../../../../test/rig/postgres.ts'
import { reportOfError } from '../../src/cli/errors.ts'
import { startEngineThread } from '../../src/outbound/deliveries/deliveries.ts'
import type { EngineSettings } from '../../src/outbound/deliveries/host.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'

const reportOf = (running: Promise<unknown>) =>
  running.then(
    () => assert.fail('the database answered'),
    (error: unknown) => reportOfError(error),
  )
const unreachableUrl = async () => `postgres://app@127.0.0.1:${await freePort()}/app`

test('the engine reports it from its thread', async () => {
  const settings: Partial<EngineSettings> = {
    database: { url: await unreachableUrl() },
    masterSecrets: ['a secret that only tests know, long enough'],
    testClock: false,
  }
  const listeners = { onAttempts: () => {}, onJobsDue: () => {} }
  const report = await reportOf(startEngineThread(settings as EngineSettings, quietLog, listeners))
  assert.equal(report?.exit, 75)
  assert.match(report.sentences.join(), /cannot be opened: .*ECONNREFUSED/)
})

test('a connection that receives notifications reports it', async (t) => {
  const url = await freshUrl(t, 'postgres')
  const target = { url, pooler: 'transaction', directUrl: await unreachableUrl() } as const
  const db = await openDatabase(target, { log: quietLog })
  onEnd(t, () => db.close())
  const report = await reportOf(db.listen('channel', () => {}))
  assert.equal(report?.exit, 75)
  assert.match(report.sentences.join(), /cannot be opened: .*ECONNREFUSED/)
})
