/** Counts the round trips to PostgreSQL of deliveries, from the request to the stored result. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { migratedUrl, quietLog } from '../../../../test/rig/databases.ts'
import { startTrafficProxy } from '../../../../test/rig/postgres-traffic.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { DeliveryEngine } from '../../src/outbound/deliveries/engine.ts'
import { engineStore } from '../../src/outbound/deliveries/engine-store.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { LOCAL, openHook, pay, register } from '../webhooks/hook.ts'
import { soleLeases } from './sole-leases.ts'

const REQUEST_ROUND_TRIPS = 2

/** Returns an engine whose clock does not advance: it looks for due work once. */
function createEngine({ app }: TestApp): DeliveryEngine {
  const vault = new Vault('a secret that only tests know, long enough', systemRandom())
  const clock = { now: app.administration.clock.now, elapsedMs: () => 0 }
  const deps = { clock, log: quietLog }
  const record = () => Promise.reject(new Error('no registration is disabled here'))
  return new DeliveryEngine({
    ...deps,
    store: engineStore({ ...deps, db: app.db, vault, record, coveredBy: () => undefined }),
    leases: soleLeases,
    post: async () => ({ kind: 'answered', status: 200, headers: {}, body: '', durationMs: 1 }),
    chance: () => 0,
    scheduleS: [60],
    rate: undefined,
  })
}

/** Runs the engine until every result is written. */
async function drain(engine: DeliveryEngine): Promise<void> {
  await engine.tick()
  while (engine.isBusy || engine.hasResults || engine.hasWindowsToFill) {
    await nextTurn()
    engine.reuseSlots()
    await engine.tick()
  }
}

test('a delivery takes three round trips to PostgreSQL, in a batch a fifth of one', async (t) => {
  const { url, traffic } = await startTrafficProxy(t, await migratedUrl(t, 'postgres'))
  const env = { ...LOCAL.env, GATEHOOK_ROLE: 'api' }
  const service = await openService(t, 'postgres', { url, env })
  const { id } = (await register(service, await openHook(t))).body
  const { db } = service.app
  const { no } = (await db.get(sql`SELECT no FROM gh_webhooks WHERE id = ${id}`))!
  const engine = createEngine(service)
  let sent = 0
  /** Sends events, and counts the round trips from the last one to the stored results. */
  const count = async (deliveries: number): Promise<number> => {
    for (let n = 1; n < deliveries; n++) await pay(service, ++sent)
    const before = traffic.roundTrips
    await pay(service, ++sent)
    await nextTurn() // the app notifies the nodes that deliver
    await engine.wake([no])
    await drain(engine)
    const [row] = await db.arrays(sql`SELECT count(*) FROM gh_deliveries
      WHERE state = 'delivered' AND event_type = 'payment.succeeded'`)
    assert.equal(row![0], sent)
    const ownRoundTrips = 1 // the count
    return traffic.roundTrips - before - REQUEST_ROUND_TRIPS - ownRoundTrips
  }
  await count(1) // reads the secrets, and writes the summary
  // The least of several contains no poll of the app.
  let alone = Number.POSITIVE_INFINITY
  for (let run = 0; run < 20 && alone > 3; run++) alone = Math.min(alone, await count(1))
  const batch = await count(400)
  t.diagnostic(JSON.stringify({ alone, batch }))
  assert.equal(alone, 3)
  assert.ok(batch <= 400 * 0.2, `${batch}`)
})
