/** §8.11: a break fails with sentences and callers; its stub compiles and restores the promise. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { addUsage, listVersionCallers } from '../../src/declare/versions/store.ts'
import { gatehook } from '../cli/command.ts'
import { copyOfService, type ServiceCopy } from '../gate/service-copy.ts'

const USERS = 'resources/users.ts'

/** `users.name` is called `full_name` from now on, everywhere in the declaration. */
function renameField(t: TestContext): ServiceCopy {
  const copy = copyOfService(t)
  copy.edit(
    USERS,
    ['    name: f.string', '    full_name: f.string'],
    ["'name', 'email'", "'full_name', 'email'"],
    ['return { name,', 'return { full_name: name,'],
    ["fields: ['name']", "fields: ['full_name']"],
  )
  return copy
}

const check = ({ folder }: ServiceCopy, ...words: string[]) =>
  gatehook({ cwd: folder }, 'check', ...words)

test('a renamed field is a break, and the printed stub restores the promise', async (t) => {
  const copy = renameField(t)
  assert.deepEqual(await copy.compile(), [])
  const refused = await check(copy)
  assert.equal(refused.exit, 1)
  for (const part of [
    'This change breaks programs that call v1 and v2.',
    '"name" of User is removed from responses: callers that read it find no value.',
    'Declare v3 in service.ts',
    ".before('v3', {",
    'ALTER TABLE users RENAME COLUMN name TO full_name',
  ]) {
    assert.ok(refused.stdout.includes(part), refused.stdout)
  }
  const { mend, remaining, ok } = JSON.parse((await check(copy, '--json')).stdout)
  assert.deepEqual([ok, mend.version, remaining], [false, 'v3', []])
  copy.edit(USERS, [
    "fields: ['full_name'] } })",
    `fields: ['full_name'] } })\n${mend.stubs[0].code}`,
  ])
  copy.edit('service.ts', [
    "v2: { released: '2026-06-01' },",
    "v2: { released: '2026-06-01' },\nv3: { released: '2026-11-21' },",
  ])
  assert.deepEqual(await copy.compile(), [])
  const passed = await check(copy)
  assert.equal(passed.exit, 0, passed.stdout)
  assert.match(passed.stdout, /v3 is not in api\.lock\.json yet/)
})

test('the stub uses a declared version that is not promised yet', async (t) => {
  const copy = renameField(t)
  copy.edit('service.ts', [
    "v2: { released: '2026-06-01' },",
    "v2: { released: '2026-06-01' },\nv3: { released: '2026-11-21' },",
  ])
  const { mend } = JSON.parse((await check(copy, '--json')).stdout)
  assert.deepEqual([mend.version, mend.fresh, mend.base], ['v3', false, 'v2'])
  const { stdout } = await check(copy)
  assert.ok(!stdout.includes('Declare v3'), stdout)
})

test('the suggested migrations have the next free numbers', async (t) => {
  const copy = renameField(t)
  copy.edit('service.ts', [
    'resources: [users, orders],',
    "resources: [users, orders],\nmigrations: [{ number: 3, name: 'x', sql: 'SELECT 1' }],",
  ])
  const { stdout } = await check(copy)
  assert.match(stdout, /Existing rows need migration 4 in/)
  const numbers = [...stdout.matchAll(/\{ number: (\d+),/g)].map(([, number]) => Number(number))
  assert.deepEqual(numbers, [4, 4, 5, 6, 7], 'of both ways')
})

test('--update accepts additions and rejects breaks', async (t) => {
  const copy = copyOfService(t)
  copy.edit(USERS, [
    '    created_at: f.createdAt(),',
    '    nick: f.string().nullable().default(null),\n    created_at: f.createdAt(),',
  ])
  const report = await check(copy)
  assert.equal(report.exit, 0)
  assert.match(report.stdout, /"nick" of User is new in responses\./)
  assert.match(report.stdout, /gatehook check --update/)
  assert.equal((await check(copy, '--update')).exit, 0)
  assert.doesNotMatch((await check(copy)).stdout, /nick/)
  copy.edit(USERS, ['    nick: f.string().nullable().default(null),\n', ''])
  const refused = await check(copy, '--update')
  assert.equal(refused.exit, 1)
  assert.match(refused.stdout, /was not written/)
  assert.match((await check(copy)).stdout, /"nick" of User is removed/)
})

test('a break without a stub is reported as such', async (t) => {
  const copy = copyOfService(t)
  copy.edit('resources/orders.ts', [
    "scope: 'orders:fulfil', from: ['paid']",
    "scope: 'orders:ship', from: ['paid']",
  ])
  const { exit, stdout } = await check(copy)
  assert.equal(exit, 1)
  assert.match(stdout, /POST \/orders\/\{id\}\/ship needs the scope orders:ship instead of/)
  assert.match(stdout, /No \.before\(\) can bridge this change/)
})

test('--accept records a reviewed break, and all other promises stay', async (t) => {
  const copy = copyOfService(t)
  const scope = ["scope: 'orders:fulfil', from: ['paid']", "scope: 'orders:ship', from: ['paid']"]
  assert.equal((await check(copy, '--accept', 'no break yet')).exit, 1)
  copy.edit('resources/orders.ts', scope as [string, string])
  assert.equal((await check(copy, '--accept', 'why')).exit, 2)
  const accepted = await check(copy, '--accept', 'all callers of ship have the new scope')
  assert.equal(accepted.exit, 0, accepted.stderr)
  assert.match(accepted.stdout, /needs the scope orders:ship instead of/)
  assert.equal((await check(copy)).exit, 0)
  const filter = ["filter: ['id', 'name',", "filter: ['id',"] as const
  copy.edit(USERS, filter)
  assert.equal((await check(copy)).exit, 1)
  copy.edit(USERS, filter.toReversed() as [string, string])
  assert.equal((await check(copy, '--update')).exit, 0)
  const [record, ...others] = JSON.parse(copy.read('api.lock.json')).accepted
  assert.deepEqual(others, [])
  assert.equal(record.reason, 'all callers of ship have the new scope')
  assert.match(record.date, /^\d{4}-\d\d-\d\d$/)
  assert.deepEqual(Object.keys(record.breaks), ['v1', 'v2'])
})

test('a missing or damaged lock is reported with a remedy', async (t) => {
  const copy = copyOfService(t)
  copy.write('api.lock.json', '<<<<<<< ours\n{}')
  const merge = await check(copy)
  assert.deepEqual([merge.exit, /merge conflict markers/.test(merge.stderr)], [1, true])
  const bare = copyOfService(t, { empty: true })
  assert.equal((await check(bare)).exit, 2)
  const missing = await gatehook({ cwd: bare.folder }, 'check', join(copy.folder, 'resources'))
  assert.equal(missing.exit, 2)
})

eachMigrated('the callers of a version come from the usage counts', async (db) => {
  const uses = [
    ['cus_1', '/users', 3, 5_000],
    ['cus_1', '/orders', 4, 9_000],
    ['anonymous', '*', 100, 100],
  ] as const
  await db.write(async (tx) => {
    for (const [customer, route, count, lastMs] of uses) {
      const use = {
        version: 'v1',
        scope: 2,
        keyId: 'key_1',
        clientId: '',
        subject: '',
        method: 'GET',
      }
      await addUsage(tx, { ...use, customer, route, count, lastMs })
    }
  })
  const callers = await listVersionCallers(db, 'v1', 1_000, 10)
  assert.deepEqual(
    callers.map((caller) => ({
      ...caller,
      count: Number(caller.count),
      last_at: Number(caller.last_at),
    })),
    [{ customer: 'cus_1', name: null, count: 7, last_at: 9_000 }],
  )
})
