/** §18.1: no request waits without bound for a primary that is frozen, unreachable or full. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { openCuttableLink } from '../../../../test/rig/cuttable-link.ts'
import { migratedUrl, openForTest, quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { hasPgbouncer, startPgbouncer } from '../../../../test/rig/pgbouncer.ts'
import { queryAsAdmin } from '../../../../test/rig/postgres.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { openPair } from '../../../../test/rig/standby.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const ORDER = { user_id: 1, amount: 1, currency: 'EUR' }

/** Sends requests of every kind at once; returns the status of each. */
async function statusesOf(node: TestApp, path: string) {
  const sent = {
    create: node.post('/api/v2/orders', ORDER),
    change: node.patch(path, { amount: 2 }),
    list: node.get('/api/v2/orders'),
    read: node.get(path),
    events: node.get('/events'),
    write: node.get('/readyz'),
    reads: node.get('/readyz?for=read'),
  }
  const statuses: Record<string, number> = {}
  for (const [name, answer] of Object.entries(sent)) {
    const { status, headers, body } = await answer
    statuses[name] = status
    if (body?.error !== undefined) {
      assert.equal(body.error, 'storage_unavailable')
      assert.match(String(headers['retry-after']), /^\d$/, name)
    }
  }
  return statuses
}

async function createOrder(node: TestApp) {
  await node.post('/api/v2/users', { email: 'a@example.com', name: 'A' })
  const { status, body } = await node.post('/api/v2/orders', ORDER)
  assert.equal(status, 201)
  return `/api/v2/orders/${body.id}`
}

async function isAvailable(node: TestApp) {
  const { text } = await node.as(undefined).get('/metrics')
  return /^gatehook_database_available (\d)/m.exec(text)?.[1]
}

async function requireRecovery(node: TestApp, path: string) {
  const create = () => node.post('/api/v2/orders', ORDER)
  await eventually(create, ({ status }) => status === 201)
  assert.equal((await node.get(path)).status, 200)
  await eventually(
    () => isAvailable(node),
    (value) => value === '1',
  )
  const isReady = () => node.get('/readyz')
  await eventually(isReady, ({ status }) => status === 200)
}

test('while a primary is frozen, a standby serves reads and writes are 503', async (t) => {
  const { primary, url, readUrl } = await openPair(t)
  const env = { GATEHOOK_DATABASE_READ_URLS: readUrl }
  const node = await openService(t, 'postgres', { url, env })
  const path = await createOrder(node)
  const countScans = async () => {
    assert.equal((await node.get(path)).status, 200)
    const [row] = await queryAsAdmin(readUrl, SCANS).catch(() => [])
    return Number(row?.scans ?? 0)
  }
  await eventually(countScans, (scans) => scans > 0)
  assert.equal(await isAvailable(node), '1')

  const resume = primary.freeze()
  const first = await statusesOf(node, path)
  assert.deepEqual([first.create, first.change], [503, 503])
  const reads = { list: 200, read: 200, events: 200, reads: 200 }
  assert.deepEqual(await statusesOf(node, path), { create: 503, change: 503, write: 503, ...reads })
  const { reasons } = (await node.get('/readyz')).body
  assert.ok(reasons.some(({ check }: { check: string }) => check === 'primary'))
  assert.equal(await isAvailable(node), '0')
  resume()
  await requireRecovery(node, path)
})

const SCANS = `SELECT idx_scan + seq_scan AS scans FROM pg_stat_user_tables
  WHERE relname = 'orders'`

/** Opens a node whose connections pass a link; `pooled`: with PgBouncer behind the link. */
async function openLinkedNode(t: TestContext, isPooled: boolean) {
  const direct = await migratedUrl(t, 'postgres')
  const pooler = isPooled ? await startPgbouncer(direct) : undefined
  onEnd(t, () => pooler?.stop())
  const behind = pooler?.through(direct) ?? direct
  const link = await openCuttableLink(behind)
  onEnd(t, () => link.close())
  const env = isPooled ? { GATEHOOK_DATABASE_POOLER: 'transaction' } : {}
  const node = await openService(t, 'postgres', { url: link.through(behind), env })
  return { direct, link, node, path: await createOrder(node) }
}

for (const isPooled of [false, true]) {
  const place = isPooled ? 'before a pooler' : 'to the primary'
  const skip = isPooled && !hasPgbouncer && 'needs PgBouncer'
  test(`a network ${place} that loses all packets: every request is 503`, { skip }, async (t) => {
    const { link, node, path } = await openLinkedNode(t, isPooled)
    const restore = link.silence()
    onEnd(t, restore)
    for (const round of ['open connections', 'new connections']) {
      const statuses = await statusesOf(node, path)
      assert.deepEqual([...new Set(Object.values(statuses))], [503], round)
    }
    assert.equal(await isAvailable(node), '0')
    restore()
    await requireRecovery(node, path)
  })
}

/** Counts statements that have waited for a lock longer than a server may be silent. */
const LONG_WAITS = `SELECT count(*) AS count FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'
  AND clock_timestamp() - query_start > interval '2500 ms'`

test('a statement that waits for a lock longer than 2 s is not cut off', async (t) => {
  const { direct, node, path } = await openLinkedNode(t, false)
  const db = await openForTest(t, direct)
  const locked = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const holding = db.write(async (tx) => {
    await tx.lock(sql`SELECT id FROM orders WHERE id = ${Number(path.split('/').at(-1))}`)
    locked.resolve()
    await held.promise
  })
  await locked.promise
  const waiting = node.patch(path, { amount: 3 })
  const countWaits = async () => Number((await queryAsAdmin(direct, LONG_WAITS))[0]!.count)
  await eventually(countWaits, (count) => count > 0).finally(held.resolve)
  assert.equal((await waiting).status, 200)
  await holding
})

/** Lets a server refuse further connections; returns the statement that ends it. */
const refusals = {
  'a role at its limit': ({ role, open }: { role: string; open: number }) => [
    `ALTER ROLE ${role} CONNECTION LIMIT ${open}`,
    `ALTER ROLE ${role} CONNECTION LIMIT -1`,
  ],
  'a database that allows no connections': ({ database }: { database: string }) => [
    `ALTER DATABASE ${database} ALLOW_CONNECTIONS false`,
    `ALTER DATABASE ${database} ALLOW_CONNECTIONS true`,
  ],
}

for (const [name, refuse] of Object.entries(refusals)) {
  test(`${name}: requests wait for the connections that are open`, async (t) => {
    const url = new URL(await migratedUrl(t, 'postgres'))
    const database = url.pathname.slice(1)
    const server = new URL('/postgres', url).href
    const role = `limited_${database}`
    await queryAsAdmin(url.href, `CREATE ROLE ${role} LOGIN PASSWORD 'limited'`)
    await queryAsAdmin(
      url.href,
      `GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role};
      GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO ${role};
      GRANT ALL ON SCHEMA public TO ${role}`,
    )
    const limited = new URL(url)
    limited.username = role
    limited.password = 'limited'
    const node = await openService(t, 'postgres', { url: limited.href, log: quietLog })
    const path = await createOrder(node)
    const count = `SELECT count(*) AS count FROM pg_stat_activity WHERE usename = '${role}'`
    const [row] = await queryAsAdmin(url.href, count)
    const [begin, end] = refuse({ role, database, open: Number(row!.count) })
    await queryAsAdmin(server, begin!)
    onEnd(t, async () => {
      await queryAsAdmin(server, end!)
      await queryAsAdmin(url.href, `DROP OWNED BY ${role}; DROP ROLE ${role}`)
    })
    for (let round = 0; round < 3; round++) {
      const writes = Array.from({ length: 30 }, () => node.post('/api/v2/orders', ORDER))
      const reads = Array.from({ length: 30 }, () => node.get(path))
      const statuses = (await Promise.all([...writes, ...reads])).map(({ status }) => status)
      assert.deepEqual(new Set(statuses), new Set([201, 200]))
    }
    assert.equal(await isAvailable(node), '1')
  })
}
