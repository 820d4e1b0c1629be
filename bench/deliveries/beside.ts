/**
 * Rows 13, 14 and 20: the API during deliveries. Services have default settings and run in turn. In
 * row 13 a service has one core; the load generator, receivers and PostgreSQL have the other. In
 * row 14 all share both, because the engine's thread needs a second core. In row 20 PostgreSQL
 * shares the core of the service.
 */
import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Contender } from '../contender.ts'
import { gatehookOn } from '../contenders.ts'
import { BENCH_KEY } from '../data.ts'
import type { DatabaseName } from '../database.ts'
import type { Outcome } from '../drive.ts'
import { type Figure, ratioFigure } from '../figures.ts'
import { type BenchRequest, type Generator, startGenerator } from '../load.ts'
import { newDatabase, stopPostgres } from '../postgres.ts'
import { firstUserId, get, post } from '../requests.ts'
import { type Server, startServer } from '../server.ts'
import { median, ratioText, spreadText } from '../statistics.ts'

const USERS = 10_000
const CONNECTIONS = 32
const BACKLOG = 25_000
const DRAINED_LIMIT_MS = 60_000

interface Side {
  readonly server: Server
  readonly contender: Contender
  readonly received: () => Promise<number>
  readonly end: () => Promise<void>
}

interface Measure {
  readonly perSecond: number
  readonly cpuUs: number
  readonly p99: number
}

type Receives = 'no' | 'hangs' | 'counts'

interface OpenOptions {
  readonly receives: Receives
  readonly core: number | undefined
  readonly database: DatabaseName
}

async function open(name: string, options: OpenOptions): Promise<Side> {
  const { receives, core, database } = options
  const folder = mkdtempSync(join(tmpdir(), 'gatehook-bench-'))
  const contender = gatehookOn(database, { users: USERS, own: name })
  await contender.prepare(folder)
  const { args, env } = contender.command(folder)
  const more = { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1', GATEHOOK_DELIVERY_RATE: '0' }
  const server = await startServer({ args, env: { ...env, ...more } }, join(folder, 'log'), core)
  const receiver = fork(new URL('receiver.ts', import.meta.url), [receives], { execArgv: [] })
  const nextMessage = () =>
    new Promise<number>((resolve) => receiver.once('message', resolve as never))
  const port = await nextMessage()
  const received = () => {
    const answer = nextMessage()
    receiver.send('count')
    return answer
  }
  const side = {
    server,
    contender,
    received,
    async end() {
      await server.end('SIGTERM')
      receiver.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  if (receives === 'no') return side
  const body = { url: `http://127.0.0.1:${port}/`, events: ['order.*', 'payment.*'] }
  await call(server, 'POST', '/webhooks', body)
  return side
}

async function call(server: Server, method: string, path: string, body: unknown) {
  const headers = { 'x-api-key': BENCH_KEY, 'content-type': 'application/json' }
  const answer = await fetch(server.url + path, { method, headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

/** Resolves when the receiver has `count` deliveries, without pings. */
async function drained({ received }: Side, count: number): Promise<void> {
  const until = performance.now() + DRAINED_LIMIT_MS
  while ((await received()) < count) {
    if (performance.now() > until) throw new Error(`${await received()} of ${count} arrived`)
    await pause(20)
  }
}

/** Returns the CPU time of the service and its PostgreSQL. */
const microsOf = async ({ server, contender }: Side): Promise<number> =>
  (server.cpuMicros() ?? 0) + ((await contender.databaseMicros?.()) ?? 0)

async function measure(
  generator: Generator,
  side: Side,
  list: string,
  options: { status: number; seconds: number },
): Promise<Measure & { outcome: Outcome }> {
  const before = await microsOf(side)
  const { seconds, status } = options
  const run = { connections: CONNECTIONS, seconds, samples: 10 }
  const outcome = await generator.run(list, side.server.port, run)
  const cpu = (await microsOf(side)) - before
  if (outcome.statuses[status] !== outcome.answers) {
    throw new Error(`${list}: ${JSON.stringify([outcome.statuses, outcome.errors])}`)
  }
  const { rate, answers, latency } = outcome
  return { perSecond: rate, cpuUs: cpu / answers, p99: latency.p99, outcome }
}

async function ordersAt(server: Server): Promise<BenchRequest[]> {
  const first = await firstUserId(server.url)
  return Array.from({ length: 5_000 }, (_, n) =>
    post('/api/v2/orders', {
      user_id: first + (n % USERS),
      amount: n + 1,
      currency: 'EUR',
      note: `order ${n}`,
    }),
  )
}

/** Row 13: no registration, a receiver that hangs, a receiver that responds. */
async function orders(generator: Generator, options: BesideOptions): Promise<Figure[]> {
  const { database, rounds, seconds } = options
  const sides = {
    none: await open('none', { receives: 'no', core: 0, database }),
    held: await open('held', { receives: 'hangs', core: 0, database }),
    drains: await open('drains', { receives: 'counts', core: 0, database }),
  }
  const results: Record<string, Measure[]> = { none: [], held: [], drains: [] }
  let acknowledged = 0
  try {
    for (const [name, { server }] of Object.entries(sides)) {
      await generator.list(name, await ordersAt(server))
    }
    for (let round = 0; round <= rounds; round++) {
      for (const [name, side] of Object.entries(sides)) {
        const result = await measure(generator, side, name, { status: 201, seconds })
        if (round > 0) results[name]!.push(result)
        if (name !== 'drains') continue
        acknowledged += result.outcome.answers
        await drained(side, acknowledged)
      }
    }
  } finally {
    for (const side of Object.values(sides)) await side.end()
  }
  print(`row 13, POST /orders, ${database}`, results)
  const common = { row: '13', title: 'POST /orders with a webhook', database }
  return [
    compare(
      { ...common, subject: 'deliveries on hold ÷ no webhook', least: 0.7 },
      results.held!,
      results.none!,
    ),
    compare(
      { ...common, subject: 'deliveries drain ÷ no webhook', least: 0.4 },
      results.drains!,
      results.none!,
    ),
  ]
}

/** Row 14: reads while 25,000 deliveries drain, and without deliveries. */
async function reads(generator: Generator, options: BesideOptions): Promise<Figure[]> {
  const { database, rounds, seconds } = options
  const side = await open('reads', { receives: 'counts', core: undefined, database })
  const { server } = side
  const results: Record<string, Measure[]> = { quiet: [], drains: [] }
  try {
    const [webhook] = await registrations(server)
    const first = await firstUserId(server.url)
    const requests = Array.from({ length: 5_000 }, (_, n) => get(`/api/v2/users/${first + n}`))
    await generator.list('reads', requests)
    const event = (_: unknown, n: number) =>
      post('/events', { type: 'payment.succeeded', object: { id: n, note: 'n'.repeat(120) } })
    await generator.list('events', Array.from({ length: 1_000 }, event))
    for (let round = 0; round <= rounds; round++) {
      const quiet = await measure(generator, side, 'reads', { status: 200, seconds })
      await call(server, 'PATCH', `/webhooks/${webhook!.id}`, { active: false })
      const fill = { connections: CONNECTIONS, count: BACKLOG, samples: 0 }
      await generator.run('events', server.port, fill)
      await call(server, 'PATCH', `/webhooks/${webhook!.id}`, { active: true })
      const before = await side.received()
      const drains = await measure(generator, side, 'reads', { status: 200, seconds })
      const sent = (await side.received()) - before
      console.error(`round ${round}: ${Math.round(sent / seconds)} deliveries/s meanwhile`)
      await drained(side, BACKLOG * (round + 1))
      if (round === 0) continue
      results.quiet!.push(quiet)
      results.drains!.push(drains)
    }
  } finally {
    await side.end()
  }
  print(`row 14, one user by id, ${database}`, results)
  const common = { row: '14', title: 'one user by id', database }
  const subject = 'while deliveries drain ÷ quiet'
  const p99 = ratioFigure(
    { ...common, subject, unit: 'ratio of p99', most: 3 },
    results.drains!.map((result) => result.p99),
    results.quiet!.map((result) => result.p99),
  )
  console.log(`p99, drains ÷ quiet: ${spreadText(p99.value)}; target at most 3`)
  return [compare({ ...common, subject, least: 0.7 }, results.drains!, results.quiet!), p99]
}

/** Row 20: deliveries while orders are posted; service, database and receiver share a core. */
async function bothOnOneCore(generator: Generator, options: BesideOptions): Promise<Figure[]> {
  const { database, rounds, seconds } = options
  // The server keeps the core of the first database.
  await newDatabase('0')
  const sides = {
    sqlite: await open('one-core', { receives: 'counts', core: 0, database: 'sqlite' }),
    postgres: await open('one-core', { receives: 'counts', core: 0, database }),
  }
  const rates: Record<keyof typeof sides, number[]> = { sqlite: [], postgres: [] }
  try {
    for (const [name, { server }] of Object.entries(sides)) {
      await generator.list(name, await ordersAt(server))
    }
    for (let round = 0; round <= rounds; round++) {
      for (const name of ['sqlite', 'postgres'] as const) {
        const side = sides[name]
        const before = await side.received()
        const { outcome } = await measure(generator, side, name, { status: 201, seconds })
        const sent = (await side.received()) - before
        console.error(`row 20, ${name}: ${outcome.answers} orders, ${sent} deliveries`)
        if (round > 0) rates[name].push(sent / seconds)
        await drained(side, before + outcome.answers)
      }
    }
  } finally {
    for (const side of Object.values(sides)) await side.end()
  }
  const title = 'deliveries while orders are posted, all on one core'
  const row = { row: '20', title, subject: 'PostgreSQL ÷ SQLite', database }
  const figure = ratioFigure({ ...row, least: 0.75 }, rates.postgres, rates.sqlite)
  console.log(`row 20, ${title}: ${spreadText(figure.value)}; target at least 0.75`)
  return [figure]
}

async function registrations(server: Server): Promise<readonly { readonly id: string }[]> {
  const headers = { 'x-api-key': BENCH_KEY }
  const answer = await fetch(`${server.url}/webhooks`, { headers })
  return ((await answer.json()) as { data: { id: string }[] }).data
}

function print(title: string, results: Readonly<Record<string, readonly Measure[]>>): void {
  console.log(title)
  const line = (all: readonly Measure[]) => ({
    'per s': Math.round(median(all.map((result) => result.perSecond))),
    'CPU µs': Math.round(median(all.map((result) => result.cpuUs))),
    'p99 ms': median(all.map((result) => result.p99)) / 1000,
  })
  console.table(Object.fromEntries(Object.entries(results).map(([name, all]) => [name, line(all)])))
}

/** Prints and returns a ratio of rates. */
function compare(
  row: Omit<Figure, 'unit' | 'value'>,
  of: readonly Measure[],
  to: readonly Measure[],
): Figure {
  const byCpu = of.map((result, at) => to[at]!.cpuUs / result.cpuUs)
  const perSecond = (all: readonly Measure[]) => all.map((result) => result.perSecond)
  const figure = ratioFigure({ ...row, byCpu: median(byCpu) }, perSecond(of), perSecond(to))
  const text = `${row.subject}: ${spreadText(figure.value)}, by CPU ${ratioText(byCpu)}`
  console.log(`${text}; target at least ${row.least}`)
  return figure
}

interface BesideOptions {
  readonly database: DatabaseName
  readonly rounds: number
  readonly seconds: number
}

interface BesideRow {
  readonly run: (generator: Generator, options: BesideOptions) => Promise<Figure[]>
  readonly generatorCore: number | undefined
  readonly databases: readonly DatabaseName[]
}

const BESIDE_ROWS: Readonly<Record<string, BesideRow>> = {
  13: { run: orders, generatorCore: 1, databases: ['sqlite', 'postgres'] },
  14: { run: reads, generatorCore: undefined, databases: ['sqlite', 'postgres'] },
  20: { run: bothOnOneCore, generatorCore: 1, databases: ['postgres'] },
}

export const besideNames = Object.keys(BESIDE_ROWS)

/** Returns the figures of a row, if it is measured on the database. */
export async function besideRow(name: string, options: BesideOptions): Promise<Figure[]> {
  const { run, generatorCore, databases } = BESIDE_ROWS[name]!
  if (!databases.includes(options.database)) return []
  const generator = startGenerator(generatorCore)
  try {
    return await run(generator, options)
  } finally {
    generator.end()
    await stopPostgres()
  }
}
