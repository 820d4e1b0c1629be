/**
 * `side.ts NAME COUNT`: one side of row 12. It adds the deliveries, measures them after a warm-up,
 * verifies that each arrived once and none is pending, and prints JSON.
 */
import { fork } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { measureRun } from '../../deliveries/common.ts'
import type { QueueMeasured } from './main.ts'
import type { Queue } from './queue.ts'
import { fileServer, postgresServer, redisServer } from './servers.ts'

/** Deliveries of the warm-up. */
const WARM = 10_000
const POLL_MS = 5

const [name = '', countText] = process.argv.slice(2)
const all = Number(countText) + WARM
const receiver = fork(new URL('../../deliveries/receiver.ts', import.meta.url), { execArgv: [] })
const nextMessage = () =>
  new Promise<number>((resolve) => receiver.once('message', resolve as never))
const url = `http://127.0.0.1:${await nextMessage()}/`
const received = () => {
  const answer = nextMessage()
  receiver.send('count')
  return answer
}

const servers = {
  'gatehook on SQLite': fileServer,
  'gatehook on PostgreSQL': postgresServer,
  'graphile-worker': postgresServer,
  'pg-boss': postgresServer,
  BullMQ: redisServer,
}
const server = await servers[name as keyof typeof servers]()

async function open(): Promise<{ start(): Promise<void>; stop(): Promise<number> }> {
  if (name.startsWith('gatehook')) {
    const { openEngine } = await import('./engine.ts')
    return openEngine(server.address, all, url)
  }
  const { delivering } = await import('./queue.ts')
  const { deliver, close } = delivering(url)
  const queue = await openQueue()
  return {
    start: () => queue.start(deliver),
    stop: () => queue.stop().finally(close),
  }
}

async function openQueue(): Promise<Queue> {
  // Imports the measured queue only, because the memory of the others would count.
  if (name === 'pg-boss') return (await import('./pg-boss.ts')).openBoss(server.address, all)
  if (name === 'BullMQ') return (await import('./bullmq.ts')).openBull(server.address, all)
  return (await import('./graphile-worker.ts')).openGraphile(server.address, all)
}

const arrived = async (least: number) => {
  while ((await received()) < least) await pause(POLL_MS)
}

const side = await open()
await server.settle()
await side.start()
await arrived(WARM)
const before = server.cpuMicros()
const measuredCount = all - (await received())
const result = await measureRun(measuredCount, () => arrived(all))
const after = server.cpuMicros()
const left = await side.stop()
const arrivals = await received()
if (left > 0 || arrivals !== all)
  throw new Error(`${name}: ${arrivals} of ${all} arrived, ${left} pending`)
const databaseCpuUs =
  before === undefined || after === undefined
    ? undefined
    : Math.round((10 * (after - before)) / measuredCount) / 10
process.stdout.write(`${JSON.stringify({ ...result, databaseCpuUs } satisfies QueueMeasured)}\n`)
receiver.kill()
await server.stop()
process.exit()
