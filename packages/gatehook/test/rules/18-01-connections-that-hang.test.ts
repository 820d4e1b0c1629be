/** §18.1: connections that hang while the database opens others are replaced, and named. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { type CuttableLink, openCuttableLink } from '../../../../test/rig/cuttable-link.ts'
import { migratedUrl, openForTest } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { hasPgbouncer, startPgbouncer } from '../../../../test/rig/pgbouncer.ts'
import { queryAsAdmin } from '../../../../test/rig/postgres.ts'
import { type Caller, openService, type TestApp } from '../../../../test/rig/service.ts'
import type { Failure } from '../../src/kernel/failure.ts'
import { isHung } from '../../src/platform/storage/postgres-errors.ts'
import { primaryFaults } from '../../src/platform/storage/primary-fault.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const ORDER = { user_id: 1, amount: 1, currency: 'EUR' }

interface Place {
  readonly link: CuttableLink
  readonly node: TestApp
  readonly admin: Caller
  /** The path of an order. */
  readonly path: string
  /** The sentences of warnings. */
  readonly warnings: readonly string[]
}

async function openPlace(t: TestContext, isPooled: boolean): Promise<Place> {
  const direct = await migratedUrl(t, 'postgres')
  const pooler = isPooled ? await startPgbouncer(direct) : undefined
  onEnd(t, () => pooler?.stop())
  const behind = pooler?.through(direct) ?? direct
  const link = await openCuttableLink(behind)
  onEnd(t, () => link.close())
  const warnings: string[] = []
  const write = (line: string) => warnings.push(JSON.parse(line).msg)
  const log = pino({ level: 'warn' }, { write })
  const env = isPooled ? { GATEHOOK_DATABASE_POOLER: 'transaction' } : {}
  const node = await openService(t, 'postgres', { url: link.through(behind), env, log })
  const admin = node.as(await node.key({ scopes: ['admin'], mode: 'live' }))
  await node.post('/api/v2/users', { email: 'a@example.com', name: 'A' })
  const { body } = await node.post('/api/v2/orders', ORDER)
  return { link, node, admin, path: `/api/v2/orders/${body.id}`, warnings }
}

/** Sends requests of every kind at once. Each has a response; that of a failure is 503. */
async function sendEach({ node, admin, path }: Place) {
  const responses = await Promise.all([
    ...Array.from({ length: 12 }, () => node.post('/api/v2/orders', ORDER)),
    node.patch(path, { amount: 2 }),
    node.get('/api/v2/orders'),
    node.get(path),
    node.get('/events'),
    node.as(undefined).get('/readyz'),
    admin.get('/admin/attention'),
  ])
  for (const { status, body } of responses) {
    assert.ok([200, 201, 503].includes(status), `${status}`)
    if (body?.error !== undefined) assert.equal(body.error, 'storage_unavailable')
  }
}

async function requireRecovery({ node, path }: Place) {
  const create = () => node.post('/api/v2/orders', ORDER)
  await eventually(create, ({ status }) => status === 201)
  assert.equal((await node.get(path)).status, 200)
  const isReady = () => node.as(undefined).get('/readyz')
  await eventually(isReady, ({ status }) => status === 200)
  const { text } = await node.as(undefined).get('/metrics')
  assert.match(text, /^gatehook_database_connections_hung_total [1-9]/m)
}

for (const isPooled of [false, true]) {
  const place = isPooled ? 'to a pooler' : 'to the database'
  const skip = isPooled && !hasPgbouncer && 'needs PgBouncer'
  test(`a network that loses the open connections ${place}`, { skip }, async (t) => {
    const opened = await openPlace(t, isPooled)
    // A server that takes 2 s to answer a probe is silent, which ends the connections, too.
    const strand = async () => {
      opened.link.strand()
      await sendEach(opened)
      return opened.warnings
    }
    await eventually(strand, (warnings) => warnings.includes(primaryFaults.hung))
    await requireRecovery(opened)
    opened.link.strand()
    await opened.node.app.close()
  })
}

const OPEN = "FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"

test('a transaction whose connection the network has lost ends at the server', async (t) => {
  const direct = await migratedUrl(t, 'postgres')
  const link = await openCuttableLink(direct)
  onEnd(t, () => link.close())
  const url = new URL(link.through(direct))
  // The server would end it by itself after 3 s.
  url.searchParams.set('options', '-c idle_in_transaction_session_timeout=0')
  const db = await openForTest(t, url.href)
  const lose = async () => {
    await queryAsAdmin(direct, `SELECT pg_terminate_backend(pid) ${OPEN}`)
    const change = db.write(async (tx) => {
      await tx.run(sql`UPDATE gh_migrations SET name = name`)
      link.strand()
      await tx.run(sql`UPDATE gh_migrations SET name = name`)
    })
    return change.then(
      () => undefined,
      (error: unknown) => (error as Failure).detail,
    )
  }
  // A server that takes 2 s to answer a probe is silent.
  await eventually(lose, isHung)
  const countOpen = async () => (await queryAsAdmin(direct, `SELECT pid ${OPEN}`)).length
  await eventually(countOpen, (count) => count === 0)
})
