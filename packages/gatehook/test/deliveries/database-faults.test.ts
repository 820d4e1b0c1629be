/** §9.12: a full disk and a database that goes away while the engine delivers. Nothing is lost. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl, openForTest, quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { asAdmin, withName } from '../../../../test/rig/postgres.ts'
import { openService } from '../../../../test/rig/service.ts'
import { deliveryStore } from '../../src/deliveries/delivery-store.ts'
import { Engine } from '../../src/deliveries/engine.ts'
import { nodeLeases } from '../../src/deliveries/leases.ts'
import { turnEngine } from '../../src/deliveries/loop.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { Vault } from '../../src/kernel/secret.ts'
import type { Database } from '../../src/storage/database.ts'
import { raw, sql } from '../../src/storage/sql.ts'
import { LOCAL, openHook, pay, register } from '../webhooks/hook.ts'

const MASTER = 'a secret that only tests know, long enough'
const EVENTS = 20

/** The engine on this thread, over receivers that answer at once with a lot to be logged. */
async function openEngine(db: Database, sent: string[]) {
  const random = systemRandom()
  const leases = nodeLeases({ db, clock: wallClock, log: quietLog, node: 'test' })
  await leases.beat()
  const record = () => Promise.reject(new Error('nothing is switched off here'))
  const coveredBy = () => undefined
  let nudge = () => {}
  const engine = new Engine({
    nudge: () => nudge(),
    ...{ leases, clock: wallClock, chance: () => 0, log: quietLog, scheduleS: [60] },
    store: deliveryStore({
      db,
      clock: wallClock,
      vault: new Vault(MASTER, random),
      record,
      coveredBy,
    }),
    async post(_, { id }) {
      sent.push(id)
      return { kind: 'answered', status: 200, headers: {}, body: 'x'.repeat(16_000), durationMs: 1 }
    },
    rate: undefined,
  })
  const turn = async () => {
    const loop = await turnEngine(engine, leases, quietLog)
    nudge = loop.nudge
    return loop
  }
  return { engine, turn }
}

/** The file cannot grow beyond so many pages; 1: beyond what it has now. */
const limit = (db: Database, pages: number) =>
  db.write((tx) => tx.arrays(sql`PRAGMA max_page_count = ${raw(String(pages))}`))

const pendingOf = async (db: Database) =>
  (await db.get(sql`SELECT count(*) AS n FROM gh_deliveries WHERE state = 'pending'`))?.n

test('on a full disk results wait, and are written when there is room [sqlite]', async (t) => {
  const url = await freshUrl(t, 'sqlite')
  const service = await openService(t, 'sqlite', { url, ...LOCAL })
  await register(service, await openHook(t))
  for (let n = 0; n < EVENTS; n++) await pay(service, n)
  const db = await openForTest(t, url)
  const sent: string[] = []
  const { engine } = await openEngine(db, sent)
  await limit(db, 1)
  await engine.tick()
  await assert.rejects(engine.settle(), { code: 'storage_unavailable' })
  assert.equal(sent.length, EVENTS)
  assert.equal(await pendingOf(db), EVENTS)
  await engine.tick().catch(() => undefined)
  assert.equal(sent.length, EVENTS, 'what waits to be written is not sent again')
  await limit(db, 1_000_000)
  await engine.settle()
  assert.equal(await pendingOf(db), 0)
  assert.equal(new Set(sent).size, EVENTS)
})

test('when there is room again the engine goes on by itself [sqlite]', async (t) => {
  const url = await freshUrl(t, 'sqlite')
  const service = await openService(t, 'sqlite', { url, ...LOCAL })
  await register(service, await openHook(t))
  const payMany = async () => {
    for (let n = 0; n < EVENTS; n++) assert.equal((await pay(service, n)).status, 201)
  }
  await payMany()
  const db = await openForTest(t, url)
  const sent: string[] = []
  const { turn } = await openEngine(db, sent)
  await limit(db, 1)
  const loop = await turn()
  const ofAll = (count: number) => async () => sent.length >= count
  await eventually(ofAll(EVENTS), Boolean)
  assert.equal(await pendingOf(db), EVENTS)
  await limit(db, 1_000_000)
  await payMany()
  await eventually(
    async () => pendingOf(db),
    (n) => n === 0,
    10_000,
  )
  assert.equal(sent.length, 2 * EVENTS)
  assert.equal(new Set(sent).size, 2 * EVENTS)
  await loop.stop()
})

test('a database that goes away and returns costs no delivery [postgres]', async (t) => {
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
  // As a server that ends: every session is told so and closed, and no new one is let in.
  await admin(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
  await admin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
  assert.equal((await pay(service, 0)).status, 503)
  await admin(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
  await payMany()
  assert.ok(acknowledged.size >= EVENTS)
  const arrived = () => new Set(hook.calls.map(({ event }) => event.id as string))
  const isAll = () => [...acknowledged].every((id) => arrived().has(id))
  await eventually(async () => isAll(), Boolean, 20_000)
  const calls = hook.calls.filter(({ event }) => acknowledged.has(event.id))
  assert.ok(calls.length - acknowledged.size <= 20, 'more was sent twice than was under way')
})
