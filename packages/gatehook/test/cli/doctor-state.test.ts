/** The checks of `gatehook doctor` on jobs that failed and on a test clock that is set. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { checkClock, checkJobs, checkMigrations } from '../../src/cli/doctor-checks.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { CLOCK_SETTING } from '../../src/platform/storage/clock-setting.ts'
import { writeSetting } from '../../src/platform/storage/settings.ts'
import { HOUR_MS, rigOf, START_MS } from '../jobs/runner-rig.ts'

eachMigrated('a job that failed for good is a warning with its error', async (db) => {
  const rig = rigOf(db)
  const run = async () => {
    throw new Error('no mail server')
  }
  const node = rig.nodeOf([rig.handlerOf('mail', run, { attempts: 2 })])
  assert.deepEqual(await checkJobs(db), { state: 'ok', detail: 'none failed' })
  await rig.add('mail')
  await node.settle()
  assert.equal((await checkJobs(db))?.state, 'ok')
  rig.advance(HOUR_MS)
  await node.settle()
  const { state, detail } = (await checkJobs(db))!
  assert.deepEqual([state, detail], ['warn', '1 failed; the last is mail: Error: no mail server'])
})

eachMigrated(
  'a test clock that is set is reported, and a warning without the option',
  async (db) => {
    const clock = { now: () => START_MS, elapsedMs: () => 0 }
    const check = (testClock: boolean) => checkClock(clock, { testClock } as never, db)
    assert.deepEqual([(await check(false)).state, (await check(true)).state], ['ok', 'ok'])
    const setting = { offsetMs: HOUR_MS, frozenAtMs: null, revision: 1 }
    await db.write((tx) => writeSetting(tx, CLOCK_SETTING, setting))
    const detail = 'it is 2027-03-01T10:20:00.000Z, and 2027-03-01T11:20:00.000Z on the test clock'
    for (const [testClock, state] of [
      [false, 'warn'],
      [true, 'ok'],
    ] as const) {
      const result = await check(testClock)
      assert.deepEqual([result.state, result.detail], [state, detail])
    }
  },
)

eachMigrated('a change behind a reviewed migration is not announced as applied', async (db) => {
  const declare = (more: object, migrations: Parameters<typeof service>[0]['migrations'] = []) => {
    const notes = resource('notes', {
      fields: { id: f.id(), ...more },
      list: { filter: [], sort: [] },
      access: { read: 'r', create: 'w', update: 'w', delete: false },
      events: [],
    })
    const versions = { v1: { released: '2026-01-01' } }
    return service({ name: 'n', versions, resources: [notes], migrations })
  }
  await migrateService(db, declare({}).definition)
  const addition = await checkMigrations(db, declare({ size: f.int().default(0) }))
  assert.match(addition.hint!, /^The next start applies them/)
  const sql = 'UPDATE notes SET id = id'
  const migrations = [{ number: 1, name: 'mark', table: 'notes', sql }] as const
  const unknown = await checkMigrations(db, declare({ size: f.int() }, migrations))
  assert.equal(unknown.hint, 'gatehook migrate --plan tells whether the next start applies them.')
})
