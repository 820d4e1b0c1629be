/** `gatehook versions …` beside a running service. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { gatehook, jsonOf } from './command.ts'
import { serving } from './process.ts'

test('a version is deprecated, browned out, retired; a running node follows', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const { url } = await serving(t, place)
  const short = await gatehook(place, 'versions', 'deprecate', 'v1', '--sunset', '30d')
  assert.equal(short.exit, 1)
  assert.match(short.stderr, /at least 6 calendar months .* --force/)
  const guide = 'https://docs.example.com/v2'
  const options = ['--sunset', '2040-01-01', '--guide', guide]
  const version = await jsonOf(place, 'versions', 'deprecate', 'v1', ...options)
  assert.deepEqual([version.state, version.migration_guide], ['deprecated', guide])
  const list = await gatehook(place, 'versions', 'list')
  assert.match(list.stdout, /v1 +deprecated +2025-06-01 +\d{4}-\d\d-\d\d +2040-01-01 +v2/)
  const hour = ['--start', '2039-01-01T10:00:00Z', '--for', '1h']
  const { brownouts } = await jsonOf(place, 'versions', 'brownout', 'v1', ...hour)
  assert.deepEqual(brownouts, [
    { start: '2039-01-01T10:00:00.000Z', end: '2039-01-01T11:00:00.000Z' },
  ])
  const cleared = await jsonOf(place, 'versions', 'brownout', 'v1', '--clear')
  assert.deepEqual(cleared.brownouts, [])
  assert.equal((await gatehook(place, 'versions', 'retire', 'v1')).exit, 1)
  const retired = await jsonOf(place, 'versions', 'retire', 'v1', '--force')
  assert.deepEqual(
    await jsonOf(place, 'versions', 'retire', 'v1'),
    retired,
    'the instant does not change',
  )
  await eventually(
    () => fetch(`${url}/api/v1/users`),
    ({ status }) => status === 410,
  )
})

test('usage lists the counts that running nodes stored', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const { url, kill, ended } = await serving(t, place)
  const unused = await gatehook(place, 'versions', 'usage', 'v2')
  assert.equal(unused.stdout, 'There are no requests to v2.\n')
  await fetch(`${url}/api/v1/users/7`)
  kill('SIGTERM')
  await ended
  const [use] = (await jsonOf(place, 'versions', 'usage', 'v1')).data
  const { customer, method, route, count } = use
  assert.deepEqual([customer, method, route, count], ['anonymous', 'GET', '/users/{id}', 1])
  const list = await gatehook(place, 'versions', 'usage', 'v1')
  assert.match(list.stdout, /anonymous +- +1 +\S+Z +GET \/users\/\{id\}\n$/)
})

test('callers lists who calls a version, with trend and contact', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const { url, kill, ended } = await serving(t, place)
  const unused = await gatehook(place, 'versions', 'callers', 'v1')
  assert.equal(unused.stdout, 'There are no requests to v1.\n')
  await fetch(`${url}/api/v1/users/7`)
  kill('SIGTERM')
  await ended
  const [caller] = (await jsonOf(place, 'versions', 'callers', 'v1')).data
  const { customer, kind, count, contact, outlook } = caller
  assert.deepEqual([customer, kind, count, contact], [null, 'anonymous', 1, null])
  assert.equal(outlook.kind, 'flat')
  const list = await gatehook(place, 'versions', 'callers', 'v1')
  assert.match(list.stdout, /- +anonymous +1 +flat +\S+Z +-\n$/)
})

test('errors name the remedy', async (t) => {
  const place = { cwd: emptyFolder(t) }
  await gatehook(place, 'migrate')
  const unknown = await gatehook(place, 'versions', 'usage', 'v9')
  assert.match(unknown.stderr, /There is no version v9; there are v1, v2\./)
  const vague = await gatehook(place, 'versions', 'brownout', 'v1', '--start', 'soon')
  assert.equal(vague.exit, 2)
  assert.match(vague.stderr, /--for 1h/)
  const never = await gatehook(place, 'versions', 'deprecate', 'v1', '--sunset', 'soon')
  assert.equal(never.exit, 2)
  assert.match(never.stderr, /--sunset is "soon"; expected an instant/)
  await gatehook(place, 'versions', 'retire', 'v1', '--force')
  const last = await gatehook(place, 'versions', 'retire', 'v2')
  assert.equal(last.exit, 1)
  assert.match(last.stderr, /v2 is the last version that is served: .* --force/)
  const none = await gatehook(place, 'versions', 'retire', 'v2', '--force')
  assert.match(none.stdout, /No version is served any more.*\n?.*versions deprecate v2 /)
  const log = await gatehook(place, 'versions', 'changelog', 'v2')
  assert.match(log.stdout, /^## v2 \(2026-06-01\)\n/)
})
