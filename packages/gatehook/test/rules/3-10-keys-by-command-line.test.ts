/** §3.10: the command line manages keys, and every node applies a change within two seconds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { gatehook, installed, jsonOf } from '../cli/command.ts'
import { serving } from '../cli/process.ts'

test('a key is created, used, rolled and revoked', async (t) => {
  const place = await installed(t)
  const created = await jsonOf(
    place,
    'keys',
    'create',
    '--name',
    'CI',
    '--scopes',
    'admin,events:read',
  )
  assert.match(created.key, /^gk_live_/)
  assert.deepEqual(created.scopes, ['admin', 'events:read'])
  const rolled = await jsonOf(place, 'keys', 'roll', created.id, '--overlap', '0s')
  assert.equal(rolled.id, created.id)
  const options = ['--mode', 'test', '--expires', '30d', '--cidrs', '127.0.0.0/8', '--pin', 'v1']
  const test = await jsonOf(
    place,
    'keys',
    'create',
    '--name',
    'temporary',
    '--scopes',
    'events:read',
    ...options,
  )
  assert.deepEqual([test.mode, test.api_version, test.cidrs], ['test', 'v1', ['127.0.0.0/8']])
  const days = (Date.parse(test.expires_at) - Date.parse(test.created_at)) / 86_400_000
  assert.ok(Math.abs(days - 30) < 0.01)
  const { data } = await jsonOf(place, 'keys', 'list', '--mode', 'live')
  assert.deepEqual(
    data.map((key: { id: string }) => key.id),
    [created.id],
  )

  const { url } = await serving(t, place, '--no-seed')
  const audit = (key: string) => fetch(`${url}/admin/audit`, { headers: { 'x-api-key': key } })
  assert.equal((await audit(created.key)).status, 403)
  const trail = await audit(rolled.key)
  assert.equal(trail.status, 200)
  const { data: rows } = (await trail.json()) as { data: Record<string, string>[] }
  const actions = rows.filter((row) => row.actor_kind === 'cli').map(({ action }) => action)
  assert.deepEqual(actions.sort(), ['key.create', 'key.create', 'key.roll'])
  await jsonOf(place, 'keys', 'revoke', rolled.id)
  await eventually(
    () => audit(rolled.key),
    ({ status }) => status !== 200,
  )
  assert.equal((await audit(rolled.key)).status, 403)
  const repeated = await gatehook(place, 'keys', 'revoke', rolled.id)
  assert.equal(repeated.exit, 1)
  assert.match(repeated.stderr, /There is no key key_/)
})

test('an invalid key is rejected before anything is written', async (t) => {
  const place = await installed(t)
  const invalid: [args: string[], sentence: RegExp][] = [
    [['--scopes', 'admin'], /Missing: --name <NAME>\./],
    [['--name', 'x'], /Missing: --scopes, of admin /],
    [
      ['--name', 'x', '--scopes', 'event:read'],
      /--scopes "event:read" must be one of .*; did you mean events:read\?/,
    ],
    [
      ['--name', 'x', '--scopes', 'admin', '--mode', 'test'],
      /--scopes "admin" is only for live keys/,
    ],
    [
      ['--name', 'x', '--scopes', 'admin', '--expires', 'soon'],
      /--expires is "soon"; expected an instant/,
    ],
  ]
  for (const [args, sentence] of invalid) {
    const { exit, stderr } = await gatehook(place, 'keys', 'create', ...args)
    assert.match(stderr, sentence)
    assert.equal(exit, 2)
  }
  assert.deepEqual(await jsonOf(place, 'keys', 'list'), { data: [] })
})
