/** §18.10: attention, System and the request log name a fault, its place and its cause. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import type { Log } from '../../src/kernel/log.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import { createBlockWatch, createLoopMeter } from '../../src/operate/system/event-loop.ts'
import { certificateWarning, readCertificateEnd } from '../../src/operate/system/machine-facts.ts'
import { insertJob } from '../../src/platform/jobs/store.ts'
import { HEARTBEAT_MS } from '../../src/platform/nodes/registry.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { errands } from '../fixtures/errands.ts'
import { adminOf, requestIdOf } from '../monitoring/admin.ts'
import { openNodes } from '../monitoring/nodes.ts'

type Item = Record<'kind' | 'severity' | 'since', string> & {
  readonly subject: { readonly id: string; readonly label: string }
  // biome-ignore lint/suspicious/noExplicitAny: the facts of a kind
  readonly facts: Record<string, any>
}

async function itemsOf(service: TestApp, kind: string): Promise<Item[]> {
  const { status, body, text } = await (await adminOf(service)).get('/admin/attention')
  assert.equal(status, 200, text)
  return body.data.filter((item: Item) => item.kind === kind)
}

/** Time that passes for caches, which are valid for some seconds, when a test says so. */
function openTime() {
  let aheadMs = 0
  const clock = { now: () => Date.now(), elapsedMs: () => performance.now() + aheadMs }
  /** Reads items after the validity of an earlier reading. */
  const laterItemsOf = (service: TestApp, kind: string) => {
    aheadMs += 5_000
    return itemsOf(service, kind)
  }
  return { clock, laterItemsOf }
}
const { clock, laterItemsOf } = openTime()

test('while no node can store a heartbeat, none is gone; one that ended is later', async (t) => {
  const { state, open } = await openNodes(t)
  const [own, other, ended] = [open('1'), open('2'), open('3')]
  const states = async () => (await own.list()).map((node) => `${node.name} ${node.state}`)
  const beat = (...nodes: readonly (typeof own)[]) =>
    Promise.allSettled(nodes.map((node) => node.heartbeat()))
  await beat(own, other, ended)
  const ready = ['api-1 ready', 'api-2 ready', 'api-3 ready']
  state.isAway = true
  for (let beats = 0; beats < 20; beats++) {
    state.now += HEARTBEAT_MS
    await beat(own, other)
    assert.deepEqual(await states(), ready)
  }
  state.isAway = false
  await beat(own)
  assert.deepEqual(await states(), ready, 'before the other has reported again')
  await beat(other)
  state.now += 3 * HEARTBEAT_MS + 1
  await beat(own, other)
  assert.deepEqual(await states(), ['api-1 ready', 'api-2 ready', 'api-3 gone'])
})

test('a node that is not ready is named with reasons, a blocked one with its use', async (t) => {
  const { open, readAttention } = await openNodes(t)
  const reasons = [{ check: 'clock', message: 'The clock of this node is 65 s ahead.' }]
  const loop = { busy: 0.95, cpu: 0.03, periodMs: 15_000 }
  const [own, ...others] = [
    open('1'),
    open('2', () => ({ reasons })),
    open('3', () => ({ loop })),
    open('4', () => ({ loop: { ...loop, busy: 0.89 } })),
  ]
  for (const node of [own!, ...others]) await node.heartbeat()
  const items = await readAttention(own!)
  assert.deepEqual(
    items.map(({ kind, subject, facts }) => [kind, subject.label, facts.reasons ?? facts.busy]),
    [
      ['node_not_ready', 'api-2', reasons],
      ['node_busy', 'api-3', 0.95],
    ],
  )
})

test('the use of an event loop is that of the last period', () => {
  let [elapsedMs, activeMs] = [0, 3_000]
  const read = () => ({ activeMs, cpuMs: activeMs / 2 })
  const measure = createLoopMeter({ elapsedMs: () => elapsedMs }, read)
  assert.equal(measure(), undefined)
  const pass = (ms: number, busyMs: number) => {
    elapsedMs += ms
    activeMs += busyMs
    return measure()
  }
  const blocked = { busy: 0.95, cpu: 0.48, periodMs: 10_000 }
  assert.deepEqual(pass(10_000, 9_500), blocked)
  assert.deepEqual(pass(1_000, 0), blocked, 'a short period says little')
  assert.equal(pass(9_000, 0)?.busy, 0)
})

eachService(
  'a key that exceeds its limit is named',
  async (service) => {
    const startMs = Date.now()
    const reader = service.as(await service.key({ name: 'Sync', scopes: ['orders:read'] }))
    const statuses = []
    for (let n = 0; n < 31; n++) statuses.push((await reader.get('/api/v2/orders')).status)
    assert.equal(statuses.filter((status) => status === 429).length, 26)
    const [item, ...others] = await itemsOf(service, 'key_limited')
    assert.deepEqual([others, item?.subject.label, item?.facts.limited], [[], 'Sync', 26])
    assert.ok(Date.parse(item!.since) > startMs - 60_000)
  },
  { env: { GATEHOOK_RATE_LIMIT: '5/3600' } },
)

eachService('jobs that failed and run again are named with their error', async (service) => {
  const now = Date.now()
  const job = { kind: 'job', name: 'book', scope: 2 as Scope, input: '{}' } as const
  await service.app.db.write(async (tx) => {
    for (const id of ['job_1', 'job_2', 'job_3']) {
      await insertJob(tx, { ...job, id, runAt: now, createdAt: now - 1_000 })
    }
    await tx.run(sql`UPDATE gh_jobs SET attempt = 1, error = 'ledger: refused' WHERE id < 'job_3'`)
  })
  const [item, ...others] = await itemsOf(service, 'jobs_failing')
  assert.deepEqual([others, item?.subject.label], [[], 'book'])
  assert.deepEqual(item?.facts, { waiting: 2, error: 'ledger: refused' })
})

eachService(
  'a job that runs for more than half of its limit is named',
  async (service) => {
    const { db } = service.app
    const job = { kind: 'job', scope: 2 as Scope, input: '{}', runAt: 0, createdAt: 0 } as const
    const startedAt = Date.now() - 31_000
    await db.write(async (tx) => {
      await insertJob(tx, { ...job, id: 'job_1', name: 'send_receipt' })
      await insertJob(tx, { ...job, id: 'job_2', name: 'archive' })
      await tx.run(sql`UPDATE gh_jobs SET state = 'running', started_at = ${Date.now()}`)
      await tx.run(sql`UPDATE gh_jobs SET started_at = ${startedAt} WHERE id = 'job_1'`)
    })
    const [item, ...others] = await itemsOf(service, 'jobs_long')
    assert.deepEqual([others, item?.subject.label], [[], 'send_receipt'])
    assert.deepEqual(item?.facts, { running: 1, limit_s: 60 })
    assert.equal(Date.parse(item!.since), startedAt)
  },
  { service: errands },
)

eachService(
  'a key that a new address uses is named, unless it has many',
  async (service) => {
    const headersOf = (address: string) => ({
      'x-forwarded-for': address,
      'x-forwarded-proto': 'https',
    })
    const requests = async (name: string, from: (n: number) => string) => {
      const { get } = service.as(await service.key({ name, scopes: ['orders:read'] }))
      for (let n = 0; n < 24; n++) await get('/api/v2/orders', headersOf(from(n)))
    }
    const [office, thief] = ['198.51.100.7', '2001:db8:9::1']
    await requests('Leaked', (n) => (n < 22 ? office : thief))
    await requests('Of one address', () => office)
    await requests('Of a cloud', (n) => (n < 22 ? `198.51.100.${n % 5}` : thief))
    await requests('Used little', (n) => (n === 19 ? thief : office))
    const [item, ...others] = await itemsOf(service, 'key_moved')
    assert.deepEqual([others, item?.subject.label], [[], 'Leaked'])
    const { hint: _, ...facts } = item!.facts
    assert.deepEqual(facts, { addresses: [thief], earlier: 1 })
    const admin = await adminOf(service)
    assert.equal((await admin.delete(`/admin/keys/${item!.subject.id}`)).status, 204)
    const find = () => laterItemsOf(service, 'key_moved')
    await eventually(find, ({ length }) => length === 0)
  },
  { env: { GATEHOOK_TRUST_PROXY: '127.0.0.1' }, clock },
)

eachService('a deletion that fails again and again is named with its error', async (service) => {
  const admin = await adminOf(service)
  const { db } = service.app
  const customer = (await admin.post('/admin/customers', { name: 'Leaving' })).body
  await db.migrate((_tx, ddl) => ddl('ALTER TABLE gh_events RENAME TO gh_events_old'))
  assert.equal((await admin.delete(`/admin/customers/${customer.id}`)).status, 202)
  await service.app.erasure.runDue()
  const [item, ...others] = await itemsOf(service, 'jobs_failing')
  assert.deepEqual([others, item?.subject.label], [[], 'delete_customer'])
  assert.equal(item?.facts.waiting, 1)
  assert.match(String(item?.facts.error), /gh_events/)
})

const rename = ({ app }: TestApp, from: string, to: string) =>
  app.db.migrate((_tx, ddl) => ddl(`ALTER TABLE orders RENAME COLUMN ${from} TO ${to}`))

eachService(
  'a missing column is named, and requests that it fails name it',
  async (service) => {
    const admin = await adminOf(service)
    await rename(service, 'note', 'memo')
    const failed = []
    for (let n = 0; n < 21; n++) failed.push(await service.get('/api/v2/orders'))
    const [item] = await itemsOf(service, 'node_not_ready')
    assert.match(JSON.stringify(item?.facts.reasons), /The database lacks orders\.note, which/)
    const { health, nodes } = (await admin.get('/admin/system')).body
    assert.match(health.reasons[0].message, /orders\.note/)
    assert.deepEqual([nodes[0].state, nodes[0].reasons], ['not_ready', health.reasons])
    const probe = (await service.as(undefined).get('/readyz')).body
    assert.doesNotMatch(JSON.stringify(probe), /orders/, 'any caller reads probes')
    const { body } = await admin.get(`/admin/requests/${requestIdOf(failed[0] as Reply)}`)
    assert.match(body.help.text, /lacks a table or a column.*note/)
    await rename(service, 'memo', 'note')
    const find = () => laterItemsOf(service, 'node_not_ready')
    await eventually(find, ({ length }) => length === 0)
  },
  { clock },
)

eachService(
  'server errors begin with the first, and are those of callers',
  async (service) => {
    const startMs = Date.now()
    const admin = await adminOf(service)
    const { db } = service.app
    await db.migrate((_tx, ddl) => ddl('ALTER TABLE gh_signing_keys RENAME TO gh_signing_keys_old'))
    for (let n = 0; n < 21; n++) assert.equal((await admin.get('/admin/system')).status, 503)
    assert.deepEqual(await itemsOf(service, 'server_errors'), [], 'reads of operators')
    await db.migrate((_tx, ddl) => ddl('ALTER TABLE gh_signing_keys_old RENAME TO gh_signing_keys'))
    await rename(service, 'note', 'memo')
    for (let n = 0; n < 21; n++) assert.equal((await service.get('/api/v2/orders')).status, 503)
    const find = () => laterItemsOf(service, 'server_errors')
    const [item] = await eventually(find, ({ length }) => length === 1)
    assert.deepEqual([item?.severity, item?.facts.failed], ['bad', 21])
    assert.match(item?.facts.cause, /The database lacks a table or a column .*note/)
    assert.ok(Date.parse(item!.since) > startMs - 5 * 60_000)
  },
  { clock },
)

test('a certificate that ends soon is a warning of /readyz, and one line of the log', () => {
  const file = fileURLToPath(new URL('../fixtures/tls/first.crt', import.meta.url))
  const end = readCertificateEnd(file)!
  const state = { now: end - 15 * 86_400_000, elapsedMs: 0 }
  const clock = { now: () => state.now, elapsedMs: () => state.elapsedMs }
  const lines: string[] = []
  const log = { warn: (_: object, text: string) => lines.push(text) } as unknown as Log
  const warning = certificateWarning({ file, clock, log })
  assert.equal(warning(), undefined)
  state.now += 2 * 86_400_000
  for (let probe = 0; probe < 3; probe++) {
    state.elapsedMs += 60_000
    assert.match(String(warning()), /certificate .* ends at 2126-10-28.* Replace its files/)
  }
  assert.equal(lines.length, 1)
  assert.equal(certificateWarning({ file: undefined, clock, log })(), undefined)
})

eachService('a credential that only reads metrics was used', async (service) => {
  const admin = await adminOf(service)
  const name = 'Prometheus'
  const created = await admin.post('/admin/keys', { name, scopes: ['metrics:read'], mode: 'live' })
  assert.equal(created.status, 201, created.text)
  const proxied = { 'x-forwarded-for': '203.0.113.9' }
  const scrape = await service.as(created.body.key).get('/metrics', proxied)
  assert.equal(scrape.status, 200)
  const read = async () => (await admin.get(`/admin/keys/${created.body.id}`)).body.last_used_at
  await eventually(read, (at) => at !== null)
})

test('an event loop that is blocked again and again is a warning, and one pause is none', () => {
  let elapsedMs = 0
  let longestMs = 2_600
  const { warning } = createBlockWatch({ elapsedMs: () => elapsedMs }, () => longestMs)
  const after = (ms: number) => {
    elapsedMs += ms
    return warning()
  }
  assert.equal(after(5_000), undefined)
  longestMs = 20
  assert.equal(after(5_000), undefined, 'a pause of the machine')
  longestMs = 1_200
  for (const ms of [1_000, 4_000]) assert.equal(after(ms), undefined)
  assert.match(String(after(5_000)), /^The event loop .* for up to 2\.6 s at once/)
  longestMs = 20
  assert.equal(after(60_000), undefined, 'it ends')
})

test('the first end of a certificate of any node is named, with its nodes', async (t) => {
  const { open, readAttention, state } = await openNodes(t)
  const endsIn = (days: number) => ({ certificateEnd: state.now + days * 86_400_000 })
  const [own, ...others] = [open('1'), open('2', () => endsIn(-2)), open('3', () => endsIn(400))]
  for (const node of [own!, ...others]) await node.heartbeat()
  const items = await readAttention(own!)
  assert.deepEqual(
    items.map(({ kind, severity, facts }) => [kind, severity, facts.nodes]),
    [['certificate_expiring', 'bad', ['api-2']]],
  )
})
