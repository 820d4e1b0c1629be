/** Counts the round trips of an idle node to PostgreSQL, over minutes of an injected clock. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { migratedUrl, quietLog } from '../../../../test/rig/databases.ts'
import { startTrafficProxy, type Traffic } from '../../../../test/rig/postgres-traffic.ts'
import { openService } from '../../../../test/rig/service.ts'
import { api } from '../../service/service.ts'
import { openApp } from '../../src/app.ts'
import { loadConfig } from '../../src/platform/config/config.ts'

const STEP_MS = 1_000
const MINUTE_MS = 60_000
/** After this time the chores of the janitor, which find nothing, are rare. */
const SETTLED_MINUTES = 8
const COUNTED_MINUTES = 8

/** A clock and the timers of an interval, which `pass` moves. */
function mockTime(t: TestContext, traffic: Traffic) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const time = { now: Date.now(), elapsedMs: 0 }
  /** Waits until the responses to all requests have arrived. */
  const settle = async () => {
    for (let quietTurns = 0; quietTurns < 4; quietTurns++) {
      await nextTurn()
      if (traffic.pending > 0) quietTurns = 0
    }
  }
  return {
    clock: { now: () => time.now, elapsedMs: () => time.elapsedMs },
    settle,
    async pass(ms: number) {
      for (const until = time.elapsedMs + ms; time.elapsedMs < until; ) {
        time.now += STEP_MS
        time.elapsedMs += STEP_MS
        t.mock.timers.tick(STEP_MS)
        await settle()
      }
    },
  }
}

/** Opens a node without its delivery engine, which has its own thread and clock. */
async function openNode(t: TestContext) {
  const { url, traffic } = await startTrafficProxy(t, await migratedUrl(t, 'postgres'))
  const { clock, pass, settle } = mockTime(t, traffic)
  const config = loadConfig({
    GATEHOOK_DATABASE_URL: url,
    GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
  })
  const app = await openApp({ config, service: api, log: quietLog, clock, delivers: false })
  onEnd(t, () => app.close())
  await app.work()
  return { url, traffic, pass, settle, app }
}

/**
 * Usually 32. The delivery engine sends 36: 20 heartbeats, 12 reads of due work, 4 of failing
 * endpoints. A connection that is opened anew, by the time of the machine, adds its settings.
 */
const API_PER_MINUTE_MAX = 38

test('an idle node sends less than one round trip per second', async (t) => {
  const { traffic, pass } = await openNode(t)
  await pass(SETTLED_MINUTES * MINUTE_MS)
  const before = traffic.roundTrips
  await pass(COUNTED_MINUTES * MINUTE_MS)
  const perMinute = (traffic.roundTrips - before) / COUNTED_MINUTES
  t.diagnostic(`${perMinute} round trips per minute`)
  assert.ok(perMinute <= API_PER_MINUTE_MAX, `${perMinute} round trips per minute`)
  assert.ok(perMinute >= 12, 'the node polls')
})

test('the first request at an idle node finds what another node has changed', async (t) => {
  const { url, pass, settle, app, traffic } = await openNode(t)
  const other = await openService(t, 'postgres', { url })
  const operator = other.as(await other.key({ scopes: ['admin'], mode: 'live' }))
  const request = { url: '/api/v1/users', headers: { host: 'localhost' } }
  assert.equal((await app.inject(request)).statusCode, 401)
  await pass(MINUTE_MS + 2_000)
  const calendar = { deprecated_at: '2020-01-01', sunset_at: '2020-02-01', force: true }
  assert.equal((await operator.put('/admin/versions/v1', calendar)).status, 200)
  assert.equal((await app.inject(request)).statusCode, 410)
  await settle() // the poll wakes background work
  const before = traffic.roundTrips
  assert.equal((await app.inject(request)).statusCode, 410)
  assert.equal(traffic.roundTrips, before, 'the next one waits for no poll')
})
