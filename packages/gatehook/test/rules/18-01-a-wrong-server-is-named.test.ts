/** §18.1: a standby behind a pooler, and a certificate that is not trusted, are 503 and named. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { migratedUrl, quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { hasPgbouncer, startPgbouncer } from '../../../../test/rig/pgbouncer.ts'
import { queryAsAdmin } from '../../../../test/rig/postgres.ts'
import { type Caller, openService, type TestApp } from '../../../../test/rig/service.ts'
import { openPair } from '../../../../test/rig/standby.ts'
import { openTlsLink } from '../../../../test/rig/tls-link.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { primaryFaultOf } from '../../src/platform/storage/postgres-errors.ts'
import { type PrimaryFault, primaryFaults } from '../../src/platform/storage/primary-fault.ts'

const ORDER = { user_id: 1, amount: 1, currency: 'EUR' }

async function createOrder(node: TestApp) {
  await node.post('/api/v2/users', { email: 'a@example.com', name: 'A' })
  const { status, body } = await node.post('/api/v2/orders', ORDER)
  assert.equal(status, 201)
  return `/api/v2/orders/${body.id}`
}

const adminOf = async (node: TestApp): Promise<Caller> =>
  node.as(await node.key({ scopes: ['admin'], mode: 'live' }))

async function requireUnavailable(sent: ReturnType<TestApp['get']>) {
  const { status, body } = await sent
  assert.deepEqual([status, body.error], [503, 'storage_unavailable'])
}

/** Waits until readiness and metrics name a fault; no request is a 500 meanwhile. */
async function requireNamed(node: TestApp, admin: Caller, fault: PrimaryFault) {
  const read = async () => {
    await requireUnavailable(node.post('/api/v2/orders', ORDER))
    const { status } = await admin.get('/admin/attention')
    assert.ok(status === 200 || status === 503, `attention is ${status}`)
    const { reasons = [] } = (await node.as(undefined).get('/readyz')).body
    const { text } = await node.as(undefined).get('/metrics')
    return {
      sentence: reasons.find(({ check }: { check: string }) => check === 'primary')?.message,
      fault: /^gatehook_database_fault\{fault="(\w+)"\} 1/m.exec(text)?.[1],
    }
  }
  await eventually(
    read,
    (named) => named.fault === fault && named.sentence === primaryFaults[fault],
  )
}

async function requireRecovery(node: TestApp) {
  const create = () => node.post('/api/v2/orders', ORDER)
  await eventually(create, ({ status }) => status === 201)
  await eventually(
    () => node.as(undefined).get('/readyz'),
    ({ status }) => status === 200,
  )
}

const skip = !hasPgbouncer && 'needs PgBouncer'
test('a pooler that leads to a standby is named, and writes are 503', { skip }, async (t) => {
  const { primary, standby, url } = await openPair(t)
  const pooler = await startPgbouncer(primary.url)
  onEnd(t, () => pooler.stop())
  const env = { GATEHOOK_DATABASE_POOLER: 'transaction', GATEHOOK_DATABASE_DIRECT_URL: url }
  const node = await openService(t, 'postgres', { url: pooler.through(url), env, log: quietLog })
  const admin = await adminOf(node)
  await createOrder(node)
  await pooler.pointTo(standby.url)
  await pooler.restart()
  await eventually(
    () => node.post('/api/v2/orders', ORDER),
    ({ status }) => status !== 201,
  )
  await requireNamed(node, admin, 'pooler_standby')
  await pooler.pointTo(primary.url)
  await pooler.restart()
  await requireRecovery(node)
})

test('a standby that accepts no connections is named', async (t) => {
  const { standby, readUrl } = await openPair(t)
  await queryAsAdmin(standby.url, 'ALTER SYSTEM SET hot_standby = off')
  await standby.halt('fast')
  standby.start().catch(() => undefined) // it never accepts connections
  const open = () => openDatabase(readUrl, { log: quietLog }).catch((error: Error) => error)
  const error = await eventually(open, (opened) => /hot_standby/.test(String(opened)))
  assert.match(String(error), /is not accepting connections, because hot_standby is off\./)
  assert.equal(primaryFaultOf((error as Error).cause), 'cold')
})

const certificate = (name: string) => {
  const read = (end: string) =>
    readFileSync(fileURLToPath(new URL(`../fixtures/tls/${name}.${end}`, import.meta.url)))
  return { cert: read('crt'), key: read('key') }
}

/** Opens a node that trusts one certificate, which its server has. */
async function openOverTls(t: TestContext) {
  const direct = await migratedUrl(t, 'postgres')
  const link = await openTlsLink(direct, certificate('first'))
  onEnd(t, () => link.close())
  const url = new URL(link.through(direct))
  const trusted = new URL('../fixtures/tls/first.crt', import.meta.url)
  url.searchParams.set('sslmode', 'verify-full')
  url.searchParams.set('sslrootcert', fileURLToPath(trusted))
  const node = await openService(t, 'postgres', { url: url.href, log: quietLog })
  return { link, node, path: await createOrder(node) }
}

for (const name of ['second', 'receivers/expired', 'receivers/other']) {
  test(`a certificate that is not trusted is named: ${name}`, async (t) => {
    const { link, node, path } = await openOverTls(t)
    const admin = await adminOf(node)
    link.use(certificate(name))
    link.cut()
    await requireUnavailable(node.post('/api/v2/orders', ORDER))
    await requireUnavailable(node.get(path))
    await requireNamed(node, admin, 'untrusted')
    link.use(certificate('first'))
    await requireRecovery(node)
    assert.equal((await node.get(path)).status, 200)
  })
}
