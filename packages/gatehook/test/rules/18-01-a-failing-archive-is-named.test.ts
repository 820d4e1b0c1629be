/** §18.1: an archive that does not get the WAL is named before it fills the disk. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl, openForTest } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { asAdmin, startPostgres } from '../../../../test/rig/postgres.ts'
import { createArchiveWatch } from '../../src/operate/system/wal-archive.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { parseArchive, type WalArchive } from '../../src/platform/storage/wal-archive.ts'

const FAILED = '000000010000000000000004'
const AT_MS = Date.UTC(2026, 0, 2)
const sound: WalArchive = {
  ...{ isConfigured: true, isFailing: false, failures: 0, failed: null, failedMs: null },
  ...{ archivedMs: AT_MS, bytes: 5 * 2 ** 20 },
}
const failing = {
  ...sound,
  ...{ isFailing: true, failures: 6, failed: FAILED, failedMs: AT_MS + 60_000 },
  bytes: 240 * 2 ** 20,
}

const CASES: readonly (readonly [string, object | null, RegExp | undefined])[] = [
  ['a sound archive', sound, undefined],
  ['no archive', null, undefined],
  ['a failure before the last success', { ...failing, isFailing: false }, undefined],
  ['a command that fails', failing, / fails since 2026-01-02T.* 6 times.* keeps 240 MiB of WAL /],
  ['a first command that fails', { ...failing, archivedMs: null, bytes: null }, / fails, 6 times/],
  ['no command', { ...sound, isConfigured: false }, /^archive_mode is on without/],
  ['a command that hangs', { ...sound, bytes: 2 ** 31 }, /got nothing since .* 2048 MiB of WAL/],
]

for (const [name, state, sentence] of CASES) {
  test(`${name} ${sentence ? 'is named' : 'is no warning'}`, async () => {
    const watch = createArchiveWatch({ name: 'postgres' })
    await watch.polled[0]!.receive(state && JSON.stringify(state), 0)
    const warning = await watch.warning()
    const failures = (await watch.metrics[0]!.read()).map(({ value }) => value)
    assert.deepEqual(failures, state === null ? [] : [sentence ? 1 : 0])
    if (!sentence) return assert.equal(warning, undefined)
    assert.match(watch.describe()!, sentence)
    assert.match(watch.describe()!, / Delete nothing in pg_wal\.$/)
    assert.deepEqual(warning, {
      message: 'The database keeps WAL that its archive does not get.',
      detail: watch.describe(),
    })
  })
}

test('a server without an archive is read', async (t) => {
  const db = await openForTest(t, await freshUrl(t, 'postgres'))
  const { polled } = createArchiveWatch(db)
  assert.deepEqual(await db.arrays(sql`SELECT ${polled[0]!.select()}`), [[null]])
  assert.deepEqual(createArchiveWatch({ name: 'sqlite' }).polled, [])
})

test('a role without rights reads the failure of a server and its end', async (t) => {
  const server = await startPostgres(['fsync=off', 'archive_mode=on'])
  onEnd(t, () => server.stop())
  const admin = (statement: string) => asAdmin(server.url, statement)
  await admin("CREATE ROLE plain LOGIN PASSWORD 'p'")
  const url = new URL(server.url)
  url.username = 'plain'
  url.password = 'p'
  const db = await openForTest(t, url.href)
  const { polled } = createArchiveWatch(db)
  const read = async () =>
    parseArchive((await db.arrays(sql`SELECT ${polled[0]!.select()}`))[0]![0]!)!
  const setCommand = async (command: string) => {
    await admin(`ALTER SYSTEM SET archive_command = '${command}'`)
    await admin('SELECT pg_reload_conf()')
  }
  const first = await read()
  assert.deepEqual([first.isConfigured, first.isFailing, first.bytes], [false, false, null])
  await setCommand('false')
  await admin('SELECT pg_switch_wal()')
  const failed = await eventually(read, ({ isFailing }) => isFailing)
  assert.equal(failed.isConfigured, true)
  assert.match(failed.failed!, /^[0-9A-F]{24}$/)
  assert.ok(failed.bytes! >= 0 && failed.bytes! <= 2 ** 25, `${failed.bytes} bytes`)
  await setCommand('true')
  const archived = await eventually(read, ({ archivedMs }) => archivedMs !== null)
  assert.equal(archived.isFailing, false)
})
