/**
 * `GATEHOOK_DATABASE_POOLER=transaction` with PgBouncer: the main flows of a service, locks,
 * deliveries and two nodes, with fewer server connections than one node opens. Needs pgbouncer.
 */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { openDatabase } from '../../packages/gatehook/src/platform/storage/open.ts'
import { sql } from '../../packages/gatehook/src/platform/storage/sql.ts'
import { openHook, register } from '../../packages/gatehook/test/webhooks/hook.ts'
import { onEnd } from '../rig/cleanup.ts'
import { freshUrl, quietLog } from '../rig/databases.ts'
import { eventually } from '../rig/eventually.ts'
import { hasPgbouncer, type Pgbouncer, startPgbouncer } from '../rig/pgbouncer.ts'
import { type PostgresServer, startPostgres } from '../rig/postgres.ts'
import { openService } from '../rig/service.ts'

const options = { skip: !hasPgbouncer && 'pgbouncer is not installed' }
let server: PostgresServer | undefined
let pooler: Pgbouncer | undefined

before(async () => {
  if (!hasPgbouncer) return
  server = await startPostgres()
  process.env.GATEHOOK_TEST_POSTGRES = server.url
  pooler = await startPgbouncer(server.url)
})
after(async () => {
  await pooler?.stop()
  await server?.stop()
})

async function openPooled(t: TestContext, url: string, directUrl?: string) {
  const target = { url: pooler!.through(url), pooler: 'transaction', directUrl } as const
  const db = await openDatabase(target, { log: quietLog })
  onEnd(t, () => db.close())
  return db
}

test('reads and transactions have their settings, and leave none to others', options, async (t) => {
  const url = await freshUrl(t, 'postgres')
  const db = await openPooled(t, url)
  const settings = sql`SELECT current_setting('max_parallel_workers_per_gather') AS workers,
    current_setting('TimeZone') AS zone, current_setting('lock_timeout') AS lock,
    current_setting('statement_timeout') AS statement`
  const expected = { workers: '0', zone: 'UTC', lock: '5s', statement: '30s' }
  assert.deepEqual(await db.get(settings), expected)
  assert.deepEqual(await db.write((tx) => tx.get(settings)), expected)
  assert.deepEqual(await db.snapshot((reader) => reader.get(settings)), expected)
})

test('a thousand concurrent reads each return their own rows', options, async (t) => {
  const db = await openPooled(t, await freshUrl(t, 'postgres'))
  const numbers = Array.from({ length: 1000 }, (_, n) => n)
  const read = async (n: number) =>
    n % 7 === 0
      ? db.get(sql`SELECT nothing FROM nowhere`).catch(() => n)
      : n % 5 === 0
        ? db.write(async (tx) => Number((await tx.get(sql`SELECT ${n} AS n`))!.n))
        : Number((await db.get(sql`SELECT ${n} AS n`))?.n)
  assert.deepEqual(await Promise.all(numbers.map(read)), numbers)
})

async function openNode(t: TestContext, url: string, directUrl?: string) {
  return openService(t, 'postgres', {
    url,
    env: {
      GATEHOOK_DATABASE_URL: pooler!.through(url),
      GATEHOOK_DATABASE_POOLER: 'transaction',
      GATEHOOK_DATABASE_DIRECT_URL: directUrl ?? '',
      GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
    },
  })
}

const order = { user_id: 1, amount: 100, currency: 'EUR' }

for (const direct of [true, false]) {
  const name = `two nodes write, list and deliver ${direct ? 'with' : 'without'} a direct URL`
  test(name, options, async (t) => {
    const url = await freshUrl(t, 'postgres')
    const node = await openNode(t, url, direct ? url : undefined)
    const other = await openNode(t, url, direct ? url : undefined)
    const person = { email: 'a@example.com', name: 'A' }
    const { body: user } = await node.post('/api/v2/users', person)
    const hook = await openHook(t)
    await node.app.work()
    assert.equal((await register(node, hook)).status, 201)
    const key = await node.key()
    const [first, second] = [node.as(key), other.as(key)]
    const headers = { 'idempotency-key': 'the-same' }
    const sent = { ...order, user_id: user.id }
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        (n % 2 ? first : second).post('/api/v2/orders', sent, headers),
      ),
    )
    const ids = replies.flatMap(({ status, body }) => (status === 201 ? [body.id] : []))
    assert.equal(new Set(ids).size, 1, 'one order, although twelve requests asked for it')
    for (const { status } of replies) assert.ok(status === 201 || status === 409, String(status))
    const many = Array.from({ length: 40 }, () => second.post('/api/v2/orders', sent))
    for (const { status } of await Promise.all(many)) assert.equal(status, 201)
    const list = await first.get('/api/v2/orders?limit=100')
    assert.equal(list.body.data.length, 41)
    const deliveredOrders = async () =>
      new Set(
        hook.calls.flatMap(({ event }) =>
          event.type === 'order.created' ? [event.data.object.id] : [],
        ),
      )
    await eventually(deliveredOrders, ({ size }) => size === 41)
    assert.equal((await other.get('/readyz')).status, 200)
  })
}

test('a restart of the pooler is 503, then requests succeed again', options, async (t) => {
  const node = await openNode(t, await freshUrl(t, 'postgres'))
  const person = (n: number) => ({ email: `p${n}@example.com`, name: 'P' })
  assert.equal((await node.post('/api/v2/users', person(0))).status, 201)
  const restarting = pooler!.restart()
  const during = await Promise.all([1, 2, 3].map((n) => node.post('/api/v2/users', person(n))))
  for (const { status } of during) assert.ok(status === 201 || status === 503, String(status))
  await restarting
  let tries = 9
  const after = () => node.post('/api/v2/users', person(++tries))
  await eventually(after, ({ status }) => status === 201)
})
