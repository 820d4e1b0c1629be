/** A restart of an installation with many customers, keys and events, and its lists. */
import { readFileSync } from 'node:fs'
import { queryAsAdmin } from '../rig/postgres.ts'
import { getFrom } from './node-requests.ts'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'
import { auditFault, needHaproxy, requireNoFailure, withDatabase } from './under-load.ts'

const CUSTOMERS = 100_000
const KEYS = 1_000_000
const EVENTS = 5_000_000
/** The rows of one statement. */
const BATCH = 500_000

/** Far above those of an idle machine: 2 s, 20 ms and 140 MB. */
const START_MAX_MS = 30_000
const LIST_MAX_MS = 1_000
const MEMORY_MAX_MB = 400
const TRIES = 5
/** Of the rows, the fill and the load. */
const LIMIT_MS = 1_800_000

/** Each customer gets as many keys and events as the others. */
const FILL_CUSTOMERS = `INSERT INTO gh_customers (id, name, created_at)
  SELECT 'cus_' || lpad(n::text, 22, '0'), 'Customer ' || n, 1700000000000 + n
  FROM generate_series(1, ${CUSTOMERS}) AS n`
/** Returns the id of the customer of row `n`: rows are in its order, so that indexes grow. */
const ownerOf = (rows: number) =>
  `'cus_' || lpad((1 + (n - 1) / ${rows / CUSTOMERS})::text, 22, '0')`
const fillKeys = (from: number) => `INSERT INTO gh_api_keys
    (id, scope, customer, mode, name, scopes, hint, created_at)
  SELECT 'key_' || lpad(n::text, 22, '0'), 2 * c.no + 1, c.id, 'live', 'Key ' || n, '["r"]',
    'gk_live_…0000', 1700000000000 + n
  FROM generate_series(${from + 1}, ${from + BATCH}) AS n
    JOIN gh_customers AS c ON c.id = ${ownerOf(KEYS)}`
const fillEvents = (from: number) => `INSERT INTO gh_events
    (scope, id, type, shape, object, created)
  SELECT 2 * c.no + 1, left(e.id, 14) || lpad(n::text, 12, '0'), e.type, e.shape,
    e.object, e.created
  FROM generate_series(${from + 1}, ${from + BATCH}) AS n
    CROSS JOIN (SELECT * FROM gh_events LIMIT 1) AS e
    JOIN gh_customers AS c ON c.id = ${ownerOf(EVENTS)}`

const LISTS = [
  '/admin/customers?sort=name',
  '/admin/customers?sort=-created_at',
  '/admin/keys',
  '/admin/keys?sort=name',
  `/admin/keys?customer=cus_${'1'.padStart(22, '0')}`,
  '/admin/events',
  `/admin/events?customer=cus_${'1'.padStart(22, '0')}`,
  '/admin/deliveries',
  '/admin/webhooks?sort=-health',
  '/admin/audit',
  '/admin/search?q=Customer',
  '/admin/attention',
  '/admin/system',
]

async function fill(url: string, report: (line: string) => void): Promise<void> {
  await queryAsAdmin(url, FILL_CUSTOMERS)
  for (let from = 0; from < KEYS; from += BATCH) await queryAsAdmin(url, fillKeys(from))
  report(`${CUSTOMERS} customers with ${KEYS} keys`)
  for (let from = 0; from < EVENTS; from += BATCH) await queryAsAdmin(url, fillEvents(from))
  await queryAsAdmin(url, 'VACUUM ANALYZE')
  report(`${EVENTS} events`)
}

/** Returns the shortest time of a few responses; infinity without one. */
async function timeList(url: string, key: string): Promise<number> {
  let leastMs = Number.POSITIVE_INFINITY
  for (let n = 0; n < TRIES; n++) {
    const startMs = performance.now()
    const response = await getFrom(url, { 'x-api-key': key }).catch(() => undefined)
    if (response?.status === 200) leastMs = Math.min(leastMs, performance.now() - startMs)
  }
  return leastMs
}

const memoryMbOf = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1_000

const restart = async (context: ChaosContext): Promise<ChaosCounts> =>
  requireNoFailure(
    await withDatabase('postgres', context, (databaseUrl) => {
      const world = { databaseUrl, booksUrl: () => databaseUrl }
      return auditFault(context, world, async ({ load, cluster, key, expect, report }) => {
        const resume = await load.hold()
        await fill(databaseUrl, report)
        resume()
        load.markFault()
        await cluster.end(0, 'SIGTERM')
        const startMs = performance.now()
        const { url, child } = await cluster.replace(0)
        const tookMs = performance.now() - startMs
        const memoryMb = memoryMbOf(child.pid!)
        report(`a start in ${Math.round(tookMs)} ms, ${Math.round(memoryMb)} MB`)
        expect(tookMs < START_MAX_MS, `a start takes ${Math.round(tookMs)} ms`)
        expect(memoryMb < MEMORY_MAX_MB, `a node has ${Math.round(memoryMb)} MB`)
        for (const path of LISTS) {
          const ms = await timeList(url + path, key)
          report(`${path}: ${ms.toFixed(1)} ms`)
          expect(ms < LIST_MAX_MS, `${path} takes ${Math.round(ms)} ms`)
        }
        await load.recovery()
      })
    }),
  )

export const largeFaults: readonly ChaosScenario[] = [
  {
    name: 'large-installation',
    title: 'a restart with 100,000 customers, 1,000,000 keys and 5,000,000 events',
    limitMs: LIMIT_MS,
    groups: ['load'],
    nodes: [2],
    missing: needHaproxy,
    run: restart,
  },
]
