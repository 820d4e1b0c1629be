/** §9.12: a full disk, or an unavailable database, during deliveries loses none of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl, openForTest, quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { asAdmin, withName } from '../../../../test/rig/postgres.ts'
import { openService } from '../../../../test/rig/service.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { DeliveryEngine } from '../../src/outbound/deliveries/engine.ts'
import { engineStore } from '../../src/outbound/deliveries/engine-store.ts'
import { nodeLeases } from '../../src/outbound/deliveries/leases.ts'
import { runEngine } from '../../src/outbound/deliveries/loop.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { raw, sql } from '../../src/platform/storage/sql.ts'
import { LOCAL, openHook, pay, register } from '../webhooks/hook.ts'
import { idleWork } from './idle-work.ts'
import { registerNodes } from './register-nodes.ts'

const MASTER = 'a secret that only tests know, long enough'
const EVENTS = 20

/** Opens the engine on this thread; receivers respond at once with 16,000 bytes for the log. */
async function openEngine(db: Database, sent: string[]) {
  const random = systemRandom()
  await registerNodes(db, 'test')
  const leases = nodeLeases({ db, clock: wallClock, log: quietLog, node: 'test' })
  await leases.heartbeat(idleWork)
  const record = () => Promise.reject(new Error('no registration is disabled here'))
  const coveredBy = () => undefined
  let nudge = () => {}
  const engine = new DeliveryEngine({
    nudge: () => nudge(),
    leases,
    clock: wallClock,
    chance: () => 0,
    log: quietLog,
    scheduleS: [60],
    store: engineStore({
      db,
      clock: wallClock,
      vault: new Vault(MASTER, random),
      log: quietLog,
      record,
      coveredBy,
    }),
    async post(_, { id }) {
      sent.push(id)
      return { kind: 'answered', status: 200, headers: {}, body: 'x'.repeat(16_000), durationMs: 1 }
    },
    rate: undefined,
  })
  const run = async () => {
    const loop = await runEngine(engine, leases, quietLog)
    nudge = loop.nudge
    return loop
  }
  return { engine, run }
}

/** Bounds the file to a number of pages; 1: to its current size. */
const limit = (db: Database, pages: number) =>
  db.write((tx) => tx.arrays(sql`PRAGMA max_page_count = ${raw(String(pages))}`))

const countPending = async (db: Database) =>
  (await db.get(sql`SELECT count(*) AS n FROM gh_deliveries WHERE state = 'pending'`))?.n

test('on a full disk results wait, and are written once there is space [sqlite]', async (t) => {
  const url = await freshUrl(t, 'sqlite')
  const service = await openService(t, 'sqlite', { url, ...LOCAL })
  await register(service, await openHook(t))
  for (let n = 0; n < EVENTS; n++) await pay(service, n)
  const db = await openForTest(t, url)
  const sent: string[] = []
  const { engine } = await openEngine(db, sent)
  await limit(db, 1)
  await engine.tick()
  await assert.rejects(engine.writeResults(), { code: 'storage_unavailable' })
  assert.equal(sent.length, EVENTS)
  assert.equal(await countPending(db), EVENTS)
  await engine.tick().catch(() => undefined)
  assert.equal(sent.length, EVENTS, 'a delivery with an unwritten result is not resent')
  await limit(db, 1_000_000)
  await engine.writeResults()
  assert.equal(await countPending(db), 0)
  assert.equal(new Set(sent).size, EVENTS)
})

test('once the disk has space the engine continues by itself [sqlite]', async (t) => {
  const url = await freshUrl(t, 'sqlite')
  const service = await openService(t, 'sqlite', { url, ...LOCAL })
  await register(service, await openHook(t))
  const payMany = async () => {
    for (let n = 0; n < EVENTS; n++) assert.equal((await pay(service, n)).status, 201)
  }
  await payMany()
  const db = await openForTest(t, url)
  const sent: string[] = []
  const { run } = await openEngine(db, sent)
  await limit(db, 1)
  const loop = await run()
  await eventually(async () => sent.length >= EVENTS, Boolean)
  assert.equal(await countPending(db), EVENTS)
  await limit(db, 1_000_000)
  await payMany()
  await eventually(
    async () => countPending(db),
    (n) => n === 0,
  )
  assert.equal(sent.length, 2 * EVENTS)
  assert.equal(new Set(sent).size, 2 * EVENTS)
  await loop.stop()
})

test('a database outage loses no delivery [postgres]', async (t) => {
  const url = await freshUrl(t, 'postgres')
  const service = await openService(t, 'postgres', { url, ...LOCAL })
  const hook = await openHook(t)
  await register(service, hook)
  await service.app.work()
  const acknowledged = new Set<string>()
  const payMany = async () => {
    for (let n = 0; n < EVENTS; n++) {
      const { status, body } = await pay(service, n)
      if (status === 201) acknowledged.add(body.id)
    }
  }
  await payMany()
  const name = new URL(url).pathname.slice(1)
  const admin = (statement: string) => asAdmin(withName(url, 'postgres'), statement)
  // Like a shutdown of the server: every session ends, and no new one is accepted.
  await admin(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
  await admin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
  assert.equal((await pay(service, 0)).status, 503)
  await admin(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
  await payMany()
  assert.ok(acknowledged.size >= EVENTS)
  const arrived = () => new Set(hook.calls.map(({ event }) => event.id as string))
  const allArrived = () => [...acknowledged].every((id) => arrived().has(id))
  await eventually(async () => allArrived(), Boolean)
  const calls = hook.calls.filter(({ event }) => acknowledged.has(event.id))
  assert.ok(
    calls.length - acknowledged.size <= 20,
    'more deliveries were resent than had been in flight',
  )
})
