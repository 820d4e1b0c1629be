/**
 * Measures the cost of one request and of one delivery on PostgreSQL: CPU of the node and of the
 * server, statements, commits, log, and disk. A delivery costs what a write with a webhook takes
 * beyond a write without one.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { fillGatehook } from '../contenders-postgres.ts'
import { BENCH_KEY } from '../data.ts'
import { gatehookCommand, startOnce } from '../gatehook-process.ts'
import { type BenchRequest, type Generator, startGenerator } from '../load.ts'
import { newDatabase, postgresMicros } from '../postgres.ts'
import { firstUserId, get, PAGE_SIZE, pagesOf, seeded, shuffled, USERS } from '../requests.ts'
import { orders } from '../rows/06-post-orders.ts'
import { type Server, startServer } from '../server.ts'
import type { UnitCost, UnitCosts } from './plan.ts'

const USER_COUNT = 10_000
const CONNECTIONS = 16
/** The server counts statements; a crash of the machine may lose the bench. */
const SETTINGS = [
  'fsync=off',
  'full_page_writes=off',
  'shared_preload_libraries=pg_stat_statements',
]
const DELIVERY_LIMIT_MS = 60_000

interface Totals extends Record<keyof UnitCost, number> {}

interface ScaleWorld {
  readonly server: Server
  readonly client: pg.Client
  readonly generator: Generator
  readonly countRequests: number
  readonly progress: (line: string) => void
}

/** Measures all units with this many requests each. */
export async function measureUnits(
  countRequests: number,
  progress: (line: string) => void,
): Promise<UnitCosts> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehook-scale-'))
  const url = await newDatabase(undefined, SETTINGS)
  const client = new pg.Client(url)
  await client.connect()
  const generator = startGenerator(undefined)
  const { args, env } = gatehookCommand(url)
  const command = {
    args,
    env: {
      ...env,
      GATEHOOK_SECRET_KEY: Buffer.alloc(32, 'bench').toString('hex'),
      GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
      GATEHOOK_DELIVERY_RATE: '0',
    },
  }
  let server: Server | undefined
  try {
    await startOnce(command, folder)
    await fillGatehook(client, { users: USER_COUNT, tied: false })
    await client.query('CREATE EXTENSION pg_stat_statements')
    server = await startServer(command, join(folder, 'node.log'), undefined)
    return await measureAll({ server, client, generator, countRequests, progress })
  } finally {
    await server?.end('SIGTERM')
    generator.end()
    await client.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measureAll(world: ScaleWorld): Promise<UnitCosts> {
  const { server } = world
  const first = await firstUserId(server.url)
  const random = seeded(20)
  const ids = Array.from({ length: 2_000 }, () => first + Math.floor(random() * USER_COUNT))
  const rows = ids.map((id) => get(`${USERS}/${id}`))
  const pages = await pagesOf(server.url, { from: 0, to: USER_COUNT, step: PAGE_SIZE })
  const bodies = await orders(server.url)
  const row = await measureUnit(world, 'row', rows, 200)
  const page = await measureUnit(world, 'page', shuffled(pages), 200)
  const write = await measureUnit(world, 'write', bodies, 201)
  const receiver = await startReceiver()
  try {
    await register(server.url, receiver.port)
    const both = await measureUnit(world, 'write with a delivery', bodies, 201, receiver)
    return { row, page, write, delivery: subtract(both, write) }
  } finally {
    receiver.child.kill('SIGKILL')
  }
}

interface CountingReceiver {
  readonly child: ChildProcess
  readonly port: number
  count(): Promise<number>
}

async function startReceiver(): Promise<CountingReceiver> {
  const child = fork(new URL('../deliveries/receiver.ts', import.meta.url), ['counts'])
  const [port] = (await once(child, 'message')) as [number]
  return {
    child,
    port,
    async count() {
      const reply = once(child, 'message')
      child.send('count')
      return ((await reply) as [number])[0]
    },
  }
}

async function register(url: string, port: number): Promise<void> {
  const response = await fetch(`${url}/webhooks`, {
    method: 'POST',
    headers: { 'x-api-key': BENCH_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ url: `http://127.0.0.1:${port}/`, events: ['order.created'] }),
  })
  if (response.status !== 201) throw new Error(`no webhook: ${await response.text()}`)
}

/** Warms up with half of the requests, and measures the others, up to the arrivals of webhooks. */
async function measureUnit(
  world: ScaleWorld,
  name: string,
  requests: readonly BenchRequest[],
  status: number,
  receiver?: CountingReceiver,
): Promise<UnitCost> {
  const { server, generator, countRequests: count, progress } = world
  progress(`${name}: ${count} requests`)
  await generator.list(name, requests)
  const send = async (number: number) => {
    const arrived = (await receiver?.count()) ?? 0
    const options = { connections: CONNECTIONS, count: number, samples: 0 }
    const { statuses } = await generator.run(name, server.port, options)
    if (statuses[status] !== number) throw new Error(`${name}: ${JSON.stringify(statuses)}`)
    for (const untilMs = performance.now() + DELIVERY_LIMIT_MS; receiver; await sleep(50)) {
      if ((await receiver.count()) >= arrived + number) break
      if (performance.now() > untilMs) throw new Error('webhooks did not arrive in time')
    }
  }
  await send(Math.ceil(count / 2))
  // Results of deliveries, counts and the request log are written in the background.
  await sleep(1_500)
  const idle = await measureIdle(world)
  const before = await readTotals(world)
  const startedMs = performance.now()
  await send(count)
  await sleep(1_500)
  const seconds = (performance.now() - startedMs) / 1_000
  const after = await readTotals(world)
  return mapCosts((figure) => (after[figure] - before[figure] - idle[figure] * seconds) / count)
}

/** Returns what the node does in a second without requests. */
async function measureIdle(world: ScaleWorld): Promise<UnitCost> {
  const before = await readTotals(world)
  await sleep(3_000)
  const after = await readTotals(world)
  return mapCosts((figure) => (after[figure] - before[figure]) / 3)
}

const mapCosts = (value: (figure: keyof UnitCost) => number): UnitCost => ({
  nodeMicros: Math.max(0, value('nodeMicros')),
  databaseMicros: Math.max(0, value('databaseMicros')),
  statements: Math.max(0, value('statements')),
  transactions: Math.max(0, value('transactions')),
  walBytes: Math.max(0, value('walBytes')),
  storedBytes: Math.max(0, value('storedBytes')),
})

const subtract = (cost: UnitCost, part: UnitCost): UnitCost =>
  mapCosts((figure) => cost[figure] - part[figure])

/** Statements of transactions' ends count as commits only. */
const TOTALS = `SELECT
  (SELECT sum(calls) FROM pg_stat_statements AS s JOIN pg_database AS d ON d.oid = s.dbid
    WHERE d.datname = current_database()
    AND query !~* '^(begin|commit|rollback|savepoint|release)')::float8 AS statements,
  (SELECT sum(calls) FROM pg_stat_statements AS s JOIN pg_database AS d ON d.oid = s.dbid
    WHERE d.datname = current_database() AND query ~* '^commit')::float8 AS transactions,
  pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS wal,
  (SELECT sum(pg_total_relation_size(oid)) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace)::float8 AS stored`

async function readTotals({ server, client }: ScaleWorld): Promise<Totals> {
  const [row] = (await client.query(TOTALS)).rows
  return {
    nodeMicros: server.cpuMicros() ?? 0,
    databaseMicros: await postgresMicros(),
    statements: Number(row.statements),
    transactions: Number(row.transactions),
    walBytes: Number(row.wal),
    storedBytes: Number(row.stored),
  }
}
