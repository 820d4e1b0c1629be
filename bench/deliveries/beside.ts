/**
 * Rows 13 and 14: the API during deliveries. Services have default settings and run in turn. In row
 * 13 a service has one core, the load generator and receivers have the other. In row 14 all share
 * both, because the engine's thread needs a second core.
 */
import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { gatehook } from '../contenders.ts'
import { BENCH_KEY } from '../data.ts'
import type { Outcome } from '../drive.ts'
import { type Generator, startGenerator } from '../load.ts'
import { firstUserId, get, post } from '../requests.ts'
import { type Server, startServer } from '../server.ts'
import { median, ratioText } from '../statistics.ts'

const USERS = 10_000
const CONNECTIONS = 32
const BACKLOG = 25_000
const DRAINED_LIMIT_MS = 60_000

interface Side {
  readonly server: Server
  readonly received: () => Promise<number>
  readonly end: () => Promise<void>
}

interface Measure {
  readonly perSecond: number
  readonly cpuUs: number
  readonly p99: number
}

type Receives = 'no' | 'hangs' | 'counts'

async function open(name: string, receives: Receives, core: number | undefined): Promise<Side> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehook-bench-'))
  const contender = gatehook({ users: USERS, own: name })
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

async function measure(
  generator: Generator,
  { server }: Side,
  list: string,
  options: { status: number; seconds: number },
): Promise<Measure & { outcome: Outcome }> {
  const before = server.cpuMicros() ?? 0
  const { seconds, status } = options
  const run = { connections: CONNECTIONS, seconds, samples: 10 }
  const outcome = await generator.run(list, server.port, run)
  const cpu = (server.cpuMicros() ?? 0) - before
  if (outcome.statuses[status] !== outcome.answers) {
    throw new Error(`${list}: ${JSON.stringify([outcome.statuses, outcome.errors])}`)
  }
  const { rate, answers, latency } = outcome
  return { perSecond: rate, cpuUs: cpu / answers, p99: latency.p99, outcome }
}

/** Row 13: no registration, a receiver that hangs, a receiver that responds. */
async function orders(generator: Generator, rounds: number, seconds: number): Promise<void> {
  const sides = {
    none: await open('none', 'no', 0),
    held: await open('held', 'hangs', 0),
    drains: await open('drains', 'counts', 0),
  }
  const results: Record<string, Measure[]> = { none: [], held: [], drains: [] }
  let acknowledged = 0
  try {
    for (const [name, { server }] of Object.entries(sides)) {
      const first = await firstUserId(server.url)
      const requests = Array.from({ length: 5_000 }, (_, n) =>
        post('/api/v2/orders', {
          user_id: first + (n % USERS),
          amount: n + 1,
          currency: 'EUR',
          note: `order ${n}`,
        }),
      )
      await generator.list(name, requests)
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
  print('row 13, POST /orders', results)
  printRatio('held ÷ none', results.held!, results.none!, 'at least 0.7')
  printRatio('drains ÷ none', results.drains!, results.none!, 'at least 0.4')
}

/** Row 14: reads while 25,000 deliveries drain, and without deliveries. */
async function reads(generator: Generator, rounds: number, seconds: number): Promise<void> {
  const side = await open('reads', 'counts', undefined)
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
  print('row 14, one user by id', results)
  printRatio('drains ÷ quiet', results.drains!, results.quiet!, 'at least 0.7')
  const p99 = results.drains!.map((result, at) => result.p99 / results.quiet![at]!.p99)
  console.log(`p99, drains ÷ quiet: ${ratioText(p99)}; target at most 3`)
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

function printRatio(
  label: string,
  of: readonly Measure[],
  to: readonly Measure[],
  target: string,
): void {
  const rates = of.map((result, at) => result.perSecond / to[at]!.perSecond)
  const cpu = of.map((result, at) => to[at]!.cpuUs / result.cpuUs)
  console.log(`${label}: ${ratioText(rates)}, by CPU ${ratioText(cpu)}; target ${target}`)
}

export async function besideRows(rounds: number, seconds: number): Promise<void> {
  for (const [row, core] of [
    [orders, 1],
    [reads, undefined],
  ] as const) {
    const generator = startGenerator(core)
    await row(generator, rounds, seconds).finally(() => generator.end())
  }
}
