/** Failover of PostgreSQL: a primary and a standby that becomes the primary. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { quietLog } from '../../../../test/rig/databases.ts'
import { breath, eventually } from '../../../../test/rig/eventually.ts'
import {
  asAdmin,
  type PostgresServer,
  queryAsAdmin,
  withName,
} from '../../../../test/rig/postgres.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { awaitReplay, openPair } from '../../../../test/rig/standby.ts'
import { checkDurability } from '../../src/cli/doctor-installation.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { openHook, pay, register } from '../webhooks/hook.ts'

interface Cluster {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
  /** The address with both hosts. */
  readonly url: string
}

async function startCluster(t: TestContext): Promise<Cluster> {
  const { primary, standby, url } = await openPair(t)
  const hosts = [primary, standby].map(({ url }) => new URL(url).host)
  return { primary, standby, url: url.replace(hosts[0]!, hosts.join()) }
}

const openNode = (t: TestContext, url: string, env: Record<string, string> = {}, log = quietLog) =>
  openService(t, 'postgres', { url, log, env: { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1', ...env } })

const ORDER = { user_id: 1, amount: 1, currency: 'EUR' }

const createOrder = async (node: TestApp) => {
  const { status, body } = await node.post('/api/v2/orders', ORDER)
  return { status, id: Number(body.id) }
}

const createUser = (node: TestApp) =>
  node.post('/api/v2/users', { email: 'a@example.com', name: 'A' })

test('a promotion that lost commits assigns no id twice, and is audited', async (t) => {
  const cluster = await startCluster(t)
  const { primary, standby } = cluster
  const warnings: Record<string, unknown>[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => warnings.push(JSON.parse(line)) })
  const node = await openNode(t, cluster.url, {}, log)
  assert.equal((await createUser(node)).status, 201)
  const hook = await openHook(t)
  await node.app.work()
  const { body: webhook } = await register(node, hook, { events: ['order.created'] })
  const admin = node.as(await node.key({ scopes: ['admin'], mode: 'live' }))
  const first = await createOrder(node)
  assert.equal(first.status, 201)
  await eventually(
    async () => hook.calls.length,
    (count) => count === 2,
  ) // with a ping
  await awaitReplay(cluster)

  await standby.halt('fast')
  const lost = [await createOrder(node), await createOrder(node), await createOrder(node)]
  assert.deepEqual(
    lost.map(({ status }) => status),
    [201, 201, 201],
  )
  await eventually(
    async () => hook.calls.length,
    (count) => count === 5,
  )
  await primary.halt('immediate')
  assert.equal((await createOrder(node)).status, 503)
  assert.equal((await node.get('/readyz')).status, 503)
  await standby.start()
  await queryAsAdmin(standby.url, 'SELECT pg_promote()')

  const next = await eventually(
    () => createOrder(node),
    ({ status }) => status === 201,
  )
  assert.ok(next.id >= first.id + 1_000_000, `${next.id} follows ${lost[2]!.id}`)
  assert.equal((await node.get(`/api/v2/orders/${first.id}`)).status, 200)
  for (const { id } of lost) assert.equal((await node.get(`/api/v2/orders/${id}`)).status, 404)

  const rowsOf = async (action: string) =>
    (await admin.get(`/admin/audit?action=${action}`)).body.data
  const promoted = await eventually(
    () => rowsOf('database.promoted'),
    (rows) => rows.length > 0,
  )
  assert.equal(promoted[0].detail.lost_events, 3)
  assert.deepEqual([promoted[0].detail.from, promoted[0].detail.to], [1, 2])
  const sent = await eventually(
    () => rowsOf('webhook.lost_events'),
    (rows) => rows.length > 0,
  )
  assert.equal(sent[0].target, webhook.id)
  const ids = hook.calls.slice(2, 5).map(({ event }) => event.id)
  assert.deepEqual(sent[0].detail.events.map(({ id }: { id: string }) => id).sort(), ids.sort())
  assert.ok(
    warnings.some(({ lost_events }) => lost_events === 3),
    'the log warns',
  )
  await eventually(
    async () => (await node.get('/readyz')).status,
    (status) => status === 200,
  )
})

/** The commits of the primary then wait for the standby. */
const requireReplica = async ({ primary }: Cluster, names = 'ANY 1 (*)') => {
  await queryAsAdmin(primary.url, `ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
  await queryAsAdmin(primary.url, 'SELECT pg_reload_conf()')
}

test('with `replica`, a failover under load loses no acknowledged row', async (t) => {
  const cluster = await startCluster(t)
  await assert.rejects(openNode(t, cluster.url, { GATEHOOK_DURABILITY: 'replica' }), {
    name: 'StorageWaitError',
    message: /has no synchronous standby/,
  })
  await requireReplica(cluster)
  const node = await openNode(t, cluster.url, { GATEHOOK_DURABILITY: 'replica' })
  assert.equal((await createUser(node)).status, 201)
  const acknowledged: number[] = []
  let isOver = false
  const load = async () => {
    while (!isOver) {
      const { status, id } = await createOrder(node)
      if (status === 201) acknowledged.push(id)
      else assert.equal(status, 503)
      await breath()
    }
  }
  const running = [load(), load(), load()]
  await eventually(
    async () => acknowledged.length,
    (count) => count >= 30,
  )
  await cluster.primary.halt('immediate')
  // The new primary has no standby of its own yet, and waits for none.
  await queryAsAdmin(cluster.standby.url, 'SELECT pg_promote()')
  const create = () => node.post('/api/v2/orders', { user_id: 1, amount: 1, currency: 'EUR' })
  await eventually(create, ({ body }) => body.error === 'durability_lost')
  const before = acknowledged.length
  const next = await cluster.standby.openStandby()
  onEnd(t, () => next.stop())
  assert.equal(acknowledged.length, before, 'nothing is acknowledged without a standby')
  await requireReplica({ ...cluster, primary: cluster.standby })
  await eventually(
    async () => acknowledged.length,
    (count) => count >= before + 30,
  )
  isOver = true
  await Promise.all(running)
  assert.equal(new Set(acknowledged).size, acknowledged.length, 'no id is assigned twice')
  for (const id of acknowledged) {
    assert.equal((await node.get(`/api/v2/orders/${id}`)).status, 200, String(id))
  }
})

test('a commit that no replica confirms is 503, although the server reports success', async (t) => {
  const cluster = await startCluster(t)
  await requireReplica(cluster)
  const node = await openNode(t, cluster.url, { GATEHOOK_DURABILITY: 'replica' })
  assert.equal((await createUser(node)).status, 201)
  const resume = cluster.standby.freeze()
  const creating = createOrder(node)
  const cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
  await eventually(
    () => queryAsAdmin(cluster.primary.url, cancel),
    ({ length }) => length > 0,
  )
  assert.equal((await creating).status, 503)
  resume()
  const retry = () => createOrder(node)
  await eventually(retry, ({ status }) => status === 201)
})

test('on a standby, reads go on, writes are 503, and /readyz distinguishes them', async (t) => {
  const cluster = await startCluster(t)
  const node = await openNode(t, `${cluster.url}?target_session_attrs=any`)
  assert.equal((await createUser(node)).status, 201)
  const { id } = await createOrder(node)
  await awaitReplay(cluster)
  await cluster.primary.halt('fast')
  const read = () => node.get(`/api/v2/orders/${id}`)
  await eventually(read, ({ status }) => status === 200)
  const key = { 'idempotency-key': 'one' }
  for (const send of [
    () => createOrder(node),
    () => node.patch(`/api/v2/orders/${id}`, { amount: 2 }, key),
    () => pay(node, 1),
  ]) {
    assert.equal((await send()).status, 503)
  }
  assert.equal((await node.get('/readyz')).status, 503)
  assert.equal((await node.get('/readyz?for=read')).status, 200)
  assert.equal((await node.get('/api/v2/orders')).status, 200)
  await cluster.primary.start()
  await eventually(
    () => createOrder(node),
    ({ status }) => status === 201,
  )
})

test('a former primary that returns after a promotion is not used', async (t) => {
  const cluster = await startCluster(t)
  const { primary, standby } = cluster
  const node = await openNode(t, cluster.url)
  assert.equal((await createUser(node)).status, 201)
  await awaitReplay(cluster)
  await primary.halt('immediate')
  await queryAsAdmin(standby.url, 'SELECT pg_promote()')
  await eventually(
    () => createOrder(node),
    ({ status }) => status === 201,
  )
  await primary.start()
  await standby.halt('fast')
  assert.equal((await createOrder(node)).status, 503)
  await standby.start()
  await eventually(
    () => createOrder(node),
    ({ status }) => status === 201,
  )
})

test('a node that starts beside a former primary uses the new one', async (t) => {
  const cluster = await startCluster(t)
  const { primary, standby } = cluster
  const node = await openNode(t, cluster.url)
  assert.equal((await createUser(node)).status, 201)
  await awaitReplay(cluster)
  await primary.halt('immediate')
  await queryAsAdmin(standby.url, 'SELECT pg_promote()')
  await primary.start()
  const next = await openNode(t, cluster.url)
  assert.equal((await createOrder(next)).status, 201)
  const { pathname } = new URL(cluster.url.replace(/,[^/]*/, ''))
  const rowsOf = async ({ url }: PostgresServer) => {
    const text = 'SELECT count(*) FROM orders'
    const [row] = await queryAsAdmin(url.replace(/\/postgres$/, pathname), text)
    return Number(row!.count)
  }
  assert.deepEqual([await rowsOf(primary), await rowsOf(standby)], [0, 1])
})

test('with `replica`, a standby that is away is named', async (t) => {
  const cluster = await startCluster(t)
  await requireReplica(cluster)
  const node = await openNode(t, cluster.url, { GATEHOOK_DURABILITY: 'replica' })
  await node.app.work()
  const readiness = async () => (await node.get('/readyz')).text
  await eventually(readiness, (text) => text.includes('"ready"'))
  await cluster.standby.halt('immediate')
  await eventually(readiness, (text) => text.includes('for writes: none is connected.'))
  await cluster.standby.start()
  await eventually(readiness, (text) => text.includes('"ready"'))
})

test('with `replica`, an unlogged table is named, and refuses writes', async (t) => {
  const cluster = await startCluster(t)
  await requireReplica(cluster)
  const node = await openNode(t, cluster.url, { GATEHOOK_DURABILITY: 'replica' })
  const { database } = (await node.app.db.get(sql`SELECT current_database() AS database`))!
  const url = withName(cluster.primary.url, database)
  const admin = node.as(await node.key({ scopes: ['admin'], mode: 'live' }))
  assert.equal((await createUser(node)).status, 201)
  await asAdmin(url, 'ALTER TABLE orders SET UNLOGGED')
  const message = 'No replica has the rows of a table of the database.'
  const readiness = async () => (await node.get('/readyz')).text
  await eventually(readiness, (text) => text.includes(message))
  for (const path of ['/api/v2/users', '/api/v2/orders']) {
    const row = { email: 'b@example.com', name: 'B' }
    const refused = await node.post(path, path.endsWith('users') ? row : ORDER)
    assert.deepEqual([refused.status, refused.body.error], [503, 'durability_lost'])
    const id = refused.headers['x-request-id']!
    const { help } = (await admin.get(`/admin/requests/${id}`)).body
    assert.match(help.text, /is replica, and a table is unlogged/)
  }
  assert.equal((await node.get('/api/v2/users')).body.data.length, 1, 'reads go on')
  await asAdmin(url, 'ALTER TABLE orders SET LOGGED')
  await eventually(readiness, (text) => text.includes('"ready"'))
  assert.equal((await createOrder(node)).status, 201)
})

test('with `replica`, a standby that is not named differs from one that is away', async (t) => {
  const cluster = await startCluster(t)
  await requireReplica(cluster)
  const node = await openNode(t, cluster.url, { GATEHOOK_DURABILITY: 'replica' })
  await node.app.work()
  const readiness = async () => (await node.get('/readyz')).text
  for (const [names, sentence, remedy] of [
    ['elsewhere', 'none of those that are named is connected', /names others only/],
    ['', 'one is connected, and none is named', /Name it: ALTER SYSTEM/],
  ] as const) {
    await requireReplica(cluster, names)
    await eventually(readiness, (text) => text.includes(sentence))
    assert.equal((await createUser(node)).body.error, 'durability_lost')
    const doctor = await checkDurability({ durability: 'replica' }, node.app.db)
    assert.match(doctor?.hint ?? '', remedy)
  }
  await requireReplica(cluster)
  await eventually(readiness, (text) => text.includes('"ready"'))
})

test('with `replica`, a frozen standby is named while commits wait for it', async (t) => {
  const cluster = await startCluster(t)
  await requireReplica(cluster)
  const node = await openNode(t, cluster.url, { GATEHOOK_DURABILITY: 'replica' })
  await node.app.work()
  assert.equal((await createUser(node)).status, 201)
  const resume = cluster.standby.freeze()
  const creating = createOrder(node)
  const readiness = async () => (await node.get('/readyz')).text
  const unconfirmed = 'No synchronous replica has confirmed a write for more than 5 s.'
  await eventually(readiness, (text) => text.includes(unconfirmed))
  assert.match((await node.get('/metrics')).text, /gatehook_durability_lost 1\n/)
  assert.equal((await creating).status, 503)
  resume()
  await eventually(readiness, (text) => text.includes('"ready"'))
})

test('with `replica`, a frozen session of the primary is no frozen standby', async (t) => {
  const cluster = await startCluster(t)
  await requireReplica(cluster)
  const node = await openNode(t, cluster.url, { GATEHOOK_DURABILITY: 'replica' })
  await node.app.work()
  const resume = cluster.standby.freeze()
  const creating = createUser(node)
  const waiting = (ageS: number) =>
    queryAsAdmin(
      cluster.url.replace(/@[^/]*/, `@${new URL(cluster.primary.url).host}`),
      `SELECT pid FROM pg_stat_activity JOIN pg_locks l USING (pid)
        WHERE wait_event = 'SyncRep' AND l.relation = 'users'::regclass
          AND query_start < clock_timestamp() - interval '${ageS} s'`,
    )
  const isAny = (sessions: readonly unknown[]) => sessions.length > 0
  const [session] = await eventually(() => waiting(0), isAny)
  const pid = Number(session!.pid)
  process.kill(pid, 'SIGSTOP')
  try {
    resume()
    await eventually(() => waiting(8), isAny)
    const readiness = async () => (await node.get('/readyz')).text
    await eventually(readiness, (text) => text.includes('"ready"'))
    const doctor = await checkDurability({ durability: 'replica' }, node.app.db)
    // That of a standby would come first.
    assert.equal(doctor?.detail, 'fsync is off')
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  await creating
})

test('with `replica`, reads go on after a promotion that leaves no standby', async (t) => {
  const cluster = await startCluster(t)
  await requireReplica(cluster)
  await requireReplica({ ...cluster, primary: cluster.standby })
  const node = await openNode(t, cluster.url, { GATEHOOK_DURABILITY: 'replica' })
  await node.app.work()
  assert.equal((await createUser(node)).status, 201)
  await awaitReplay(cluster)
  await cluster.primary.halt('immediate')
  await queryAsAdmin(cluster.standby.url, 'SELECT pg_promote()')
  const read = () => node.get('/api/v2/users/1')
  await eventually(read, ({ status }) => status === 200)
  const create = () => node.post('/api/v2/orders', { user_id: 1, amount: 1, currency: 'EUR' })
  await eventually(create, ({ body }) => body.error === 'durability_lost')
  const readiness = async () => (await node.get('/readyz')).text
  await eventually(readiness, (text) => text.includes('no synchronous replica'))
})
