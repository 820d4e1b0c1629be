/**
 * §18.5: revocations stay unknown after an export that was cut, or that ends before the backup. An
 * operator may say which row it must have.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { gatehook, installed, jsonOf, type Place } from '../cli/command.ts'
import { serving } from '../cli/process.ts'
import { backedUp, exportTo } from '../cli/restored.ts'

/** An installation that a service has used. */
async function used(t: TestContext): Promise<Place> {
  const place = { cwd: emptyFolder(t) }
  const { kill, ended } = await serving(t, place, '--no-seed')
  kill('SIGTERM')
  await ended
  return place
}

const createKey = (place: Place) =>
  jsonOf(place, 'keys', 'create', '--name', 'k', '--scopes', 'orders:read')

test('an export that is cut, or older than the backup, settles nothing', async (t) => {
  const place = await used(t)
  const file = (name: string) => join(place.cwd, name)
  const { id } = await createKey(place)
  const former = await exportTo(place, file('former'))
  await createKey(place)
  const restore = await backedUp(t, place)
  const quiet = await exportTo(place, file('quiet'))
  await jsonOf(place, 'keys', 'revoke', id)
  const whole = (await exportTo(place, file('whole'))).trim().split('\n')
  const { last } = await jsonOf(place, 'audit', 'verify')
  writeFileSync(file('cut'), whole.slice(0, -1).join('\n'))
  writeFileSync(file('short'), whole.slice(0, -2).join('\n'))
  writeFileSync(file('beginning'), whole.slice(0, 3).join('\n'))
  const restored = await restore()
  const run = await serving(t, restored, '--no-seed')
  const apply = (name: string, ...args: string[]) =>
    gatehook(restored, 'restore', '--revocations', file(name), ...args)
  const system = async () => {
    const { key } = await jsonOf(restored, 'keys', 'create', '--name', 'a', '--scopes', 'admin')
    const response = await fetch(`${run.url}/admin/system`, { headers: { 'x-api-key': key } })
    return ((await response.json()) as { restore: { revocations: string } }).restore.revocations
  }
  for (const name of ['former', 'beginning', 'short', 'cut']) {
    const { exit, stdout } = await apply(name)
    assert.equal(exit, 1, `${name}: ${stdout}`)
    assert.match(stdout, /covers the trail up to \S+ only: .*\. Revocations stay unknown\./, name)
    assert.equal(await system(), 'unknown', name)
  }
  const { data } = await jsonOf(restored, 'keys', 'list')
  const ids = data.map((key: { id: string }) => key.id)
  assert.equal(ids.includes(id), false, 'a cut export revokes all the same')
  assert.ok(former.length < quiet.length)
  const lacking = await apply('quiet', '--expect', last.hash)
  assert.deepEqual([lacking.exit, await system()], [1, 'unknown'])
  assert.match(lacking.stderr, /The expected hash is not in the export/)
  const { exit, stdout } = await apply('whole', '--expect', last.hash)
  assert.equal(exit, 0, stdout)
  assert.match(stdout, /The export covers the trail up to \S+\.\n$/)
  assert.equal(await system(), 'applied')
})

test('an export after the backup that has nothing new settles the state', async (t) => {
  const place = await used(t)
  const restore = await backedUp(t, place)
  const file = join(place.cwd, 'quiet')
  await exportTo(place, file)
  const restored = await restore()
  const result = await jsonOf(restored, 'restore', '--revocations', file)
  assert.deepEqual([result.complete, result.applied], [true, 0])
})

test('--expect needs an export, and a hash', async (t) => {
  const place = await installed(t)
  for (const args of [
    ['backup', '--expect', 'a'.repeat(64)],
    ['--revocations', 'f', '--expect', 'a'],
  ]) {
    assert.equal((await gatehook(place, 'restore', ...args)).exit, 2)
  }
})
