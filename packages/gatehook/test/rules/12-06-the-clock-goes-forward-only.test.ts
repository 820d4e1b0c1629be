/** §12.6: the command line sets the test clock, which outlives the process. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { gatehook, jsonOf } from '../cli/command.ts'

test('the test clock advances only, and only if it is enabled', async (t) => {
  const cwd = emptyFolder(t)
  const place = { cwd, env: { GATEHOOK_TEST_CLOCK: '1' } }
  await gatehook(place, 'migrate')
  const before = await jsonOf(place, 'clock')
  const after = await jsonOf(place, 'clock', 'advance', '30d', '--freeze')
  assert.equal(after.frozen, true)
  assert.ok(Date.parse(after.now) - Date.parse(before.now) >= 30 * 86_400_000)
  assert.equal((await jsonOf(place, 'clock')).now, after.now)
  const back = await gatehook(place, 'clock', 'set', '2026-01-01')
  assert.equal(back.exit, 1)
  assert.match(back.stderr, /already/)
  const off = await gatehook({ cwd }, 'clock')
  assert.equal(off.exit, 78)
  assert.match(off.stderr, /GATEHOOK_TEST_CLOCK is not 1/)
})

/** A command of each way to the local database: the API, the app, the database alone. */
const COMMANDS = [
  ['keys', 'list'],
  ['customers', 'list'],
  ['operators', 'list'],
  ['webhooks', 'list'],
  ['trigger', 'payment.succeeded'],
  ['import', 'users', 'users.csv'],
  ['listen'],
  ['audit', 'verify'],
]

test('no command uses another clock than the service', async (t) => {
  const place = { cwd: emptyFolder(t), env: { GATEHOOK_TEST_CLOCK: '1' } }
  await gatehook(place, 'migrate')
  const open = await gatehook({ cwd: place.cwd }, 'customers', 'list')
  assert.equal(open.exit, 0, open.stderr)
  await jsonOf(place, 'clock', 'advance', '8d')
  for (const words of COMMANDS) {
    const { exit, stderr } = await gatehook({ cwd: place.cwd }, ...words)
    assert.equal(exit, 78, `${words.join(' ')}: ${stderr}`)
    assert.match(stderr, /GATEHOOK_TEST_CLOCK is not 1 here/, words.join(' '))
  }
  const followed = await gatehook(place, 'customers', 'list')
  assert.equal(followed.exit, 0, followed.stderr)
})
