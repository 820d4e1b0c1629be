/** §18.5: whole processes on restored data; a restart, a kill and a move are no restore. */
import assert from 'node:assert/strict'
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { gatehook, installed, jsonOf, type Place } from '../cli/command.ts'
import { serving } from '../cli/process.ts'

const dataOf = ({ cwd }: Place) => join(cwd, 'data')

async function warningsAt(url: string): Promise<string[]> {
  const response = await fetch(`${url}/readyz`)
  assert.equal(response.status, 200)
  const { warnings = [] } = (await response.json()) as { warnings?: { check: string }[] }
  return warnings.map(({ check }) => check)
}

/** Starts the service, returns the warnings of `/readyz`, and ends it. */
async function warningsOf(t: TestContext, place: Place, ...args: string[]): Promise<string[]> {
  const { url, kill, ended } = await serving(t, place, '--no-seed', ...args)
  const warnings = await warningsAt(url)
  kill('SIGTERM')
  await ended
  return warnings
}

/** Copies the installation of a place that no process uses to a new machine. */
function copied(t: TestContext, place: Place, ...files: string[]): Place {
  const copy = { cwd: emptyFolder(t) }
  mkdirSync(dataOf(copy))
  for (const file of files) cpSync(join(dataOf(place), file), join(dataOf(copy), file))
  return copy
}

test('a restored backup is held until its release, which a running node applies', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const run = await serving(t, place, '--no-seed')
  const backup = join(place.cwd, 'b.gatehook')
  await jsonOf(place, 'backup', backup)
  run.kill('SIGKILL')
  await run.ended
  const restored = copied(t, place, 'secret.key')
  assert.equal((await gatehook(restored, 'restore', backup)).exit, 0)
  const node = await serving(t, restored, '--no-seed')
  await node.line(({ msg }) =>
    /^the data was restored: deliveries, jobs and mail/.test(String(msg)),
  )
  assert.deepEqual(await warningsAt(node.url), ['restore'])
  const released = await gatehook(restored, 'restore', 'release')
  assert.match(released.stdout, /^Released at \S+: nothing is held\.\n$/)
  await eventually(
    () => warningsAt(node.url),
    (warnings) => warnings.length === 0,
  )
  assert.match((await gatehook(restored, 'restore', 'release')).stdout, /^Released at/)
  assert.match((await gatehook(restored, 'restore', 'confirm')).stdout, /^Confirmed: no revocation/)
  node.kill('SIGTERM')
  await node.ended
  assert.deepEqual(await warningsOf(t, restored), [])
})

test('kill -9, a restart and a folder on a new machine are no restore', async (t) => {
  const place = { cwd: emptyFolder(t) }
  for (const signal of ['SIGKILL', 'SIGKILL', 'SIGTERM'] as const) {
    const run = await serving(t, place, '--no-seed')
    assert.deepEqual(await warningsAt(run.url), [], signal)
    run.kill(signal)
    await run.ended
  }
  const files = ['gatehook.db', 'gatehook.db.mark', 'secret.key']
  assert.deepEqual(await warningsOf(t, copied(t, place, ...files)), [])
})

test('an installation that moved to another database is no restore', async (t) => {
  const place = { cwd: emptyFolder(t) }
  assert.deepEqual(await warningsOf(t, place), [])
  await jsonOf(place, 'move', '--to', 'sqlite:./data/moved.db')
  const moved = { ...place, env: { GATEHOOK_DATABASE_URL: 'sqlite:./data/moved.db' } }
  assert.deepEqual(await warningsOf(t, moved), [])
  assert.deepEqual(await warningsOf(t, moved), [])
})

test('a copy of the file alone is a restore, and so is --restored', async (t) => {
  const place = { cwd: emptyFolder(t) }
  assert.deepEqual(await warningsOf(t, place), [])
  const copy = copied(t, place, 'gatehook.db', 'secret.key')
  assert.deepEqual(await warningsOf(t, copy), ['restore'])
  assert.deepEqual(await warningsOf(t, place, '--restored'), ['restore'])
})

test('without restored data nothing is released', async (t) => {
  const place = await installed(t)
  assert.equal((await gatehook(place, 'restore', 'release')).stdout, 'Nothing is held.\n')
  const { stdout } = await gatehook(place, 'restore', 'confirm')
  assert.equal(stdout, 'No restored data was recognized.\n')
})
