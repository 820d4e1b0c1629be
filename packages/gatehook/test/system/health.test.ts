import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachDatabase, eachMigrated, quietLog } from '../../../../test/rig/databases.ts'
import { migrateEngine } from '../../src/engine-tables.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { restoreJson } from '../../src/operate/restore/operations.ts'
import {
  databaseCheck,
  drainCheck,
  type HealthChecks,
  migrationCheck,
  newInstallationWarning,
  writeChecks,
} from '../../src/operate/system/health.ts'
import { createReadiness } from '../../src/operate/system/readiness.ts'
import { probeRoutes, rootRoute, systemRoute } from '../../src/operate/system/routes.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import type { Call, Route } from '../../src/protocol/http/call.ts'
import { Query } from '../../src/protocol/http/query.ts'

async function get(endpoints: readonly Route[], path: string) {
  const endpoint = endpoints.find((each) => each.path === path)
  const answer = await endpoint!.methods.GET!.handle({ query: Query.empty } as Call)
  return { status: answer.status, body: JSON.parse(answer.json!) }
}

const readinessOf = (write: HealthChecks) =>
  createReadiness({
    ...{ read: {}, write, heartbeat: write, free: new Set<string>() },
    clock: { elapsedMs: () => 0 },
    log: quietLog,
  })
const probesOf = (write: HealthChecks) =>
  probeRoutes({
    ...{ readiness: readinessOf(write), tolerated: {}, log: quietLog },
    clock: { elapsedMs: () => 0 },
  })

test('any number of probes at once cost two runs of the checks', async () => {
  let runs = 0
  const endpoints = probesOf({ database: async () => void (runs += 1) })
  const first = get(endpoints, '/readyz')
  await new Promise((resolve) => setImmediate(resolve))
  const others = Array.from({ length: 500 }, () => get(endpoints, '/readyz'))
  for (const { status } of await Promise.all([first, ...others])) assert.equal(status, 200)
  assert.ok(runs <= 2, `${runs}`)
})

eachDatabase('/readyz lists the reasons', async (db) => {
  let draining = false
  const checks = {
    database: databaseCheck(db),
    migrations: migrationCheck(db),
    draining: drainCheck(() => draining),
  }
  const endpoints = probesOf(checks)
  const ready = async () => {
    const { status, body } = await get(endpoints, '/readyz')
    return [status, body.status, body.reasons.map((each: { check: string }) => each.check)]
  }
  assert.deepEqual(await ready(), [503, 'not_ready', ['migrations']])
  await migrateEngine(db, { clock: wallClock })
  assert.deepEqual(await ready(), [200, 'ready', []])
  draining = true
  assert.deepEqual(await ready(), [503, 'not_ready', ['draining']])
  assert.deepEqual(await get(endpoints, '/healthz'), { status: 200, body: { status: 'ok' } })
})

eachMigrated('a node without writes is not ready, and checks again after 5 s', async (db) => {
  let [elapsedMs, full, writes] = [0, false, 0]
  const trying: Database = {
    ...db,
    write: (change) => {
      writes += 1
      return full ? Promise.reject(new Failure('storage_unavailable')) : db.write(change)
    },
  }
  const clock = { now: () => 0, elapsedMs: () => elapsedMs }
  const check = writeChecks(trying, clock).writes
  assert.deepEqual([await check(), await check(), writes], [undefined, undefined, 1])
  full = true
  elapsedMs += 5000
  assert.equal(await check(), 'The database does not accept writes at the moment.')
  full = false
  elapsedMs += 5000
  assert.equal(await check(), undefined)
})

test('a write that hangs is a fault of writes, and of no move', async () => {
  const hanging = { write: () => new Promise<never>(() => undefined), lacksSpace: () => false }
  const clock = { now: () => 0, elapsedMs: () => 0 }
  const { moved } = writeChecks(hanging as unknown as Database, clock)
  assert.equal(await moved!(), undefined)
})

test('a check that fails or hangs is a reason without internal details', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const checks = {
    broken: () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.5:5432')),
    thrown: () => {
      throw new Error('secret')
    },
    away: () => Promise.reject(new Failure('storage_unavailable', 'The database is away.')),
    hanging: () => new Promise<undefined>(() => undefined),
  }
  const pending = get(probesOf(checks), '/readyz')
  await new Promise(setImmediate) // failing checks have failed; the test does not wait
  t.mock.timers.tick(2000)
  const { status, body } = await pending
  assert.equal(status, 503)
  const log = 'This check failed; the log says more.'
  assert.deepEqual(body.reasons, [
    { check: 'broken', message: log },
    { check: 'thrown', message: log },
    { check: 'away', message: 'The database is away.' },
    { check: 'hanging', message: 'No answer within 2000 ms.' },
  ])
})

test('/ lists the versions and links', async () => {
  const versions = ['v1', 'v2']
  const links = { docs: '/docs' }
  const root = rootRoute({ name: 'shop', versions, collections: ['books'], links })
  const { body } = await get([root], '/')
  assert.deepEqual([body.name, body.versions], ['shop', ['v1', 'v2']])
  assert.deepEqual(body.links.api.v2, { books: '/api/v2/books' })
  assert.deepEqual(body.links.openapi, { v1: '/openapi/v1.json', v2: '/openapi/v2.json' })
  assert.deepEqual([body.links.docs, body.links.readyz], ['/docs', '/readyz'])
})

test('/admin/system returns health, counts and configuration', async () => {
  const endpoint = systemRoute({
    db: { name: 'sqlite' },
    clock: { now: () => 0, elapsedMs: () => 5500 },
    readiness: readinessOf({ draining: () => 'This node is shutting down.' }),
    warnings: { clock: () => 'The clock is 3 s ahead.' },
    log: quietLog,
    release: '0.1.0',
    node: 'v26',
    startedMs: 500,
    configuration: [{ name: 'GATEHOOK_PORT', value: '1', source: 'flag', secret: false }],
    readFigures: async () => ({
      keys: 3,
      nodes: [],
      node_differences: [],
      queue: {
        waiting: 0,
        waiting_is_bound: false,
        oldest_at: null,
        in_flight: 0,
        rate_per_s: 0,
      },
      storage: { bytes: 0, monitoring_bytes: 0, migrations: 0 },
      index_builds: [],
      jobs: [],
      request_log: { mode: 'all', stored: 0, sampled: 0, dropped: 0 },
      restore: restoreJson(undefined),
      signing_keys: [],
    }),
  })
  const { body } = await get([endpoint], '/admin/system')
  assert.deepEqual(
    [body.keys, body.uptime_s, body.database, body.health.status],
    [3, 5, 'sqlite', 'not_ready'],
  )
  assert.equal(body.configuration.length, 1)
})

test('an installation that the start has created is a warning for an hour', () => {
  let elapsedMs = 0
  const clock = { elapsedMs: () => elapsedMs }
  const [fresh, other] = [true, false].map((isNew) => newInstallationWarning(isNew, clock))
  assert.match(String(fresh!()), /^The start of this node has created the installation/)
  assert.equal(other!(), undefined)
  elapsedMs = 3_600_000
  assert.equal(fresh!(), undefined)
})
