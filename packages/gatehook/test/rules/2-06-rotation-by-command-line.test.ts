/** §13: `gatehook secrets rotate` during service, killed during its run, and rerun. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { freshUrl, openForTest } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { readState } from '../../src/platform/secrets/state.ts'
import { gatehook, jsonOf, type Place } from '../cli/command.ts'
import { launched, serving } from '../cli/process.ts'
import { NEW, NEW_ID, OLD, OLD_ID } from '../secrets/rotation.ts'

const key = generateApiKey(systemRandom(), 'live')

/** A request whose replay decrypts the stored response. */
async function createCustomer(url: string, name: string) {
  const headers = {
    'x-api-key': key,
    'content-type': 'application/json',
    'idempotency-key': name,
  }
  const init = { method: 'POST', headers, body: JSON.stringify({ name }) }
  const answer = await fetch(`${url}/admin/customers`, init)
  return { status: answer.status, text: await answer.text() }
}

interface Count {
  readonly key_id: string | null
  readonly count: number
}

/** Returns the ids of the keys that encrypt the stored values. */
async function keysInUse(place: Place): Promise<(string | null)[]> {
  const { values } = await jsonOf(place, 'secrets', 'status')
  const used = values.filter(({ count }: Count) => count > 0).map(({ key_id }: Count) => key_id)
  return [...new Set<string | null>(used)]
}

/** Starts a rotation and kills it while it waits 3 s for nodes. */
async function killedRotation(t: TestContext, place: Place, url: string): Promise<void> {
  const db = await openForTest(t, url)
  const run = launched(t, place, 'secrets', 'rotate')
  const isBegun = async () => (await readState(db))?.rotation !== undefined
  await eventually(isBegun, (begun) => begun)
  run.kill('SIGKILL')
  assert.equal((await run.ended).exit, null)
  assert.ok(await isBegun())
}

test('on SQLite, the service continues during a killed rotation and after a restart', async (t) => {
  const cwd = emptyFolder(t)
  const place = { cwd, env: { GATEHOOK_BOOTSTRAP_KEY: key } }
  const data = join(cwd, 'data')
  const files = () => readdirSync(data).filter((name) => name.startsWith('secret.key'))
  const service = await serving(t, place, '--no-seed')
  const first = await createCustomer(service.url, 'first')
  assert.equal(first.status, 201)
  const old = readFileSync(join(data, 'secret.key'), 'utf8')
  const [oldId] = await keysInUse(place)
  await killedRotation(t, place, `sqlite:${join(data, 'gatehook.db')}`)
  assert.deepEqual(files(), ['secret.key', 'secret.key.previous'])
  assert.equal(readFileSync(join(data, 'secret.key.previous'), 'utf8'), old)
  assert.notEqual(readFileSync(join(data, 'secret.key'), 'utf8'), old)
  for (const name of files()) assert.equal(statSync(join(data, name)).mode & 0o777, 0o600)
  assert.deepEqual(await createCustomer(service.url, 'first'), first)
  const second = await createCustomer(service.url, 'second')
  assert.equal(second.status, 201)
  service.kill('SIGTERM')
  await service.ended
  const restarted = await serving(t, place, '--no-seed')
  assert.deepEqual(await createCustomer(restarted.url, 'first'), first)
  assert.deepEqual(await createCustomer(restarted.url, 'second'), second)
  const done = await jsonOf(place, 'secrets', 'rotate')
  assert.deepEqual([done.previous_key_id, done.resumed, done.unreadable], [oldId, true, 0])
  assert.equal(existsSync(join(data, 'secret.key.previous')), false)
  assert.deepEqual(await keysInUse(place), [done.key_id])
  assert.deepEqual(await createCustomer(restarted.url, 'first'), first)
  assert.equal((await createCustomer(restarted.url, 'third')).status, 201)
  assert.deepEqual(await keysInUse(place), [done.key_id])
  const again = await jsonOf(place, 'secrets', 'rotate')
  assert.deepEqual([again.previous_key_id, again.resumed], [done.key_id, false])
  assert.deepEqual(await createCustomer(restarted.url, 'first'), first)
})

test('on PostgreSQL, a rotation requires both secrets and names a missing one', async (t) => {
  const url = await freshUrl(t, 'postgres')
  const cwd = emptyFolder(t)
  const placeWith = (env: Record<string, string>): Place => ({
    cwd,
    env: { GATEHOOK_DATABASE_URL: url, GATEHOOK_BOOTSTRAP_KEY: key, ...env },
  })
  const old = placeWith({ GATEHOOK_SECRET_KEY: OLD })
  const both = placeWith({ GATEHOOK_SECRET_KEY: NEW, GATEHOOK_SECRET_KEY_PREVIOUS: OLD })
  const fresh = placeWith({ GATEHOOK_SECRET_KEY: NEW })
  const service = await serving(t, old, '--no-seed')
  const first = await createCustomer(service.url, 'first')
  const refused = await gatehook(old, 'secrets', 'rotate')
  assert.equal(refused.exit, 78)
  assert.match(refused.stderr, /in GATEHOOK_SECRET_KEY and this .* in GATEHOOK/)
  const same = placeWith({ GATEHOOK_SECRET_KEY: OLD, GATEHOOK_SECRET_KEY_PREVIOUS: OLD })
  assert.equal((await gatehook(same, 'secrets', 'rotate')).exit, 78)
  const next = await serving(t, both, '--no-seed')
  assert.deepEqual(await createCustomer(next.url, 'first'), first)
  service.kill('SIGTERM')
  await service.ended
  await killedRotation(t, both, url)
  const lacking = await gatehook(fresh, 'start', '--port', '0')
  assert.equal(lacking.exit, 78)
  assert.match(
    lacking.stderr,
    new RegExp(`key ${OLD_ID}, is missing: set GATEHOOK_SECRET_KEY_PREV`),
  )
  const done = await jsonOf(both, 'secrets', 'rotate')
  assert.deepEqual([done.key_id, done.resumed], [NEW_ID, true])
  const last = await serving(t, fresh, '--no-seed')
  for (const node of [next, last]) assert.deepEqual(await createCustomer(node.url, 'first'), first)
  assert.equal((await createCustomer(next.url, 'second')).status, 201)
  assert.deepEqual(await keysInUse(fresh), [NEW_ID])
})
