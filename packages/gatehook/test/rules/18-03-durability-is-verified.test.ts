/** §18.3: `replica` is verified with each commit, and reading works without it. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { migratedUrl } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService } from '../../../../test/rig/service.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { gatehook } from '../cli/command.ts'

const KEY = 'a secret that only tests know, long enough'
const KEYED = { 'idempotency-key': 'one' }
const replica = { GATEHOOK_DURABILITY: 'replica', GATEHOOK_SECRET_KEY: KEY }

/** Opens a service that waits for no standby, and returns the address of its database. */
async function prepareDatabase(t: TestContext) {
  const url = await migratedUrl(t, 'postgres')
  const node = await openService(t, 'postgres', { url })
  const { status } = await node.post('/api/v2/users', { email: 'a@example.com', name: 'A' })
  assert.equal(status, 201)
  return { url, key: await node.key(), admin: await node.key({ scopes: ['admin'], mode: 'live' }) }
}

test('without a synchronous standby writes are 503 durability_lost, and reads work', async (t) => {
  const { url, key, admin } = await prepareDatabase(t)
  await assert.rejects(openService(t, 'postgres', { url, env: replica }), {
    name: 'StorageWaitError',
    message: /replica, and the server has no synchronous standby/,
  })
  // With a clock of its own the start leaves out the check of the server: a failover came later.
  const env = { ...replica, GATEHOOK_RATE_LIMIT: '1000/60' }
  const node = await openService(t, 'postgres', { url, env, key, clock: wallClock })
  for (const send of [
    () => node.post('/api/v2/users', { email: 'b@example.com', name: 'B' }),
    () => node.patch('/api/v2/users/1', { name: 'C' }),
    () => node.post('/api/v2/users', { email: 'b@example.com', name: 'B' }, KEYED),
    () => node.as(admin).post('/admin/customers', { name: 'Second' }),
  ]) {
    const { status, body, headers } = await send()
    assert.deepEqual([status, body.error], [503, 'durability_lost'])
    assert.equal(headers['retry-after'], '30')
  }
  const users = await node.get('/api/v2/users')
  assert.deepEqual(
    users.body.data.map(({ name }: { name: string }) => name),
    ['A'],
  )
  const lists = ['attention', 'requests', 'errors', 'versions/v1/usage', 'versions/v1/callers']
  for (const list of lists) {
    const { status, text } = await node.as(admin).get(`/admin/${list}`)
    assert.equal(status, 200, `${list}: ${text}`)
  }
  await node.app.work()
  const isNoticed = async () => (await node.as(undefined).get('/metrics')).text
  await eventually(isNoticed, (text) => text.includes('gatehook_durability_lost 1'))
  const { status, body } = await node.get('/readyz')
  const reasons = body.reasons.map(({ check }: { check: string }) => check)
  assert.deepEqual([status, reasons], [503, ['durability', 'writes']])
  assert.match(body.reasons[0].message, /no synchronous replica/)
  assert.equal((await node.get('/readyz?for=read')).status, 200)
})

const WRITING = [
  ['customers', 'create', 'Second'],
  ['keys', 'create', '--name', 'one', '--scopes', 'events:read'],
] as const
const READING = [
  ['audit', 'list'],
  ['audit', 'verify'],
  ['keys', 'list'],
  ['customers', 'list'],
  ['events', 'list'],
  ['versions', 'list'],
] as const

test('without a synchronous standby commands read, and exit with 75 when they write', async (t) => {
  const { url } = await prepareDatabase(t)
  // No server listens at the replica: a command reads from none.
  const away = { GATEHOOK_DATABASE_READ_URLS: 'postgres://postgres@127.0.0.1:1/none' }
  const env = { ...replica, ...away, GATEHOOK_DATABASE_URL: url }
  const cwd = emptyFolder(t)
  for (const command of READING) {
    const { exit, stdout, stderr } = await gatehook({ cwd, env }, ...command)
    assert.equal(exit, 0, `${command.join(' ')}: ${stdout}${stderr}`)
    assert.doesNotMatch(stderr, /\n\s+at |"stack"/)
  }
  for (const command of WRITING) {
    const { exit, stderr } = await gatehook({ cwd, env }, ...command)
    assert.equal(exit, 75, stderr)
    assert.match(stderr, /no synchronous replica/)
    assert.doesNotMatch(stderr, /\n\s+at |"stack"/)
  }
  const doctor = await gatehook({ cwd, env }, 'doctor', '--json')
  const { checks } = JSON.parse(doctor.stdout)
  const durability = checks.find(({ check }: { check: string }) => check === 'durability')
  assert.deepEqual([doctor.exit, durability.state], [1, 'fail'])
})
