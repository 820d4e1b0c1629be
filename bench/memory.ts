/**
 * `npm run bench -- memory`: a million mixed requests to one process; reads its memory after each
 * 50,000. Flat means: the median of the last fifth is at most 10 % above that of the second fifth.
 */
import { join } from 'node:path'
import type { Contender } from './contender.ts'
import { gatehook, handmade } from './contenders.ts'
import type { BenchRequest } from './load.ts'
import { firstUserId, get, pagesOf, post, shuffled, USERS } from './requests.ts'
import { prepareData, type RunContext } from './run.ts'
import { startServer } from './server.ts'
import { median } from './statistics.ts'

const USERS_COUNT = 10_000
const STEP = 50_000
const CONNECTIONS = 32
const GROWTH_LIMIT = 1.1
const PLOT_WIDTH = 50

export interface MemoryResult {
  readonly text: string
  readonly faults: readonly string[]
}

export async function runMemory(
  context: RunContext,
  requests: number,
  contenderName: string,
): Promise<MemoryResult> {
  const contender = contenderOf(contenderName)
  const folder = await prepareData(contender, context)
  const server = await startServer(contender.command(folder), join(folder, 'log'), context.core)
  const readings: number[] = []
  const faults: string[] = []
  const statuses: Record<number, number> = {}
  try {
    await context.generator.list('memory', await mixed(server.url))
    for (let sent = 0; sent < requests; sent += STEP) {
      const options = { connections: CONNECTIONS, count: STEP, samples: 0 }
      const outcome = await context.generator.run('memory', server.port, options)
      for (const [status, count] of Object.entries(outcome.statuses)) {
        statuses[Number(status)] = (statuses[Number(status)] ?? 0) + count
      }
      for (const [error, count] of Object.entries(outcome.errors))
        faults.push(`${error} (${count} ×)`)
      server.trimLog()
      readings.push((server.rssBytes() ?? Number.NaN) / 2 ** 20)
      context.progress(`memory  ${sent + STEP} of ${requests}: ${readings.at(-1)!.toFixed(0)} MB`)
    }
  } finally {
    await server.end('SIGTERM')
  }
  for (const status of Object.keys(statuses)) {
    if (Number(status) >= 500) faults.push(`status ${status} (${statuses[Number(status)]} ×)`)
  }
  return { text: textOf(contenderName, readings, statuses, faults), faults }
}

function contenderOf(name: string): Contender {
  if (name === 'gatehook') return gatehook({ users: USERS_COUNT, own: 'memory' })
  if (name === 'handmade') return handmade({ users: USERS_COUNT, full: true, store: 'group' })
  throw new Error(`the contender is gatehook or handmade, not ${name}`)
}

/** Pages, rows, totals, orders, and requests that are rejected for each reason. */
async function mixed(url: string): Promise<BenchRequest[]> {
  const pages = await pagesOf(url, { from: 0, to: USERS_COUNT, step: 20 })
  const first = await firstUserId(url)
  const requests: BenchRequest[] = []
  for (let n = 0; n < pages.length * 10; n++) {
    const order = { user_id: first + (n % USERS_COUNT), amount: n, currency: 'EUR' }
    requests.push(pages[n % pages.length]!, get(`${USERS}/${first + ((n * 7) % USERS_COUNT)}`))
    if (n % 4 === 0) requests.push(post('/api/v2/orders', order))
    if (n % 5 === 0) requests.push(get(`${USERS}?page=${1 + (n % 100)}&per_page=20`))
    if (n % 10 === 0) requests.push(...rejected(n))
  }
  return shuffled(requests)
}

const rejected = (n: number): BenchRequest[] => [
  get(`${USERS}/${9_000_000_000 + n}`),
  get(`${USERS}?limit=${1000 + n}`),
  get(`${USERS}?limit=20&cursor=no-cursor-${n}`),
  get(`/api/v2/nothing-${n}`),
  post('/api/v2/orders', { user_id: 'nobody', amount: -n }),
  { method: 'GET', target: `${USERS}?n=${n}` },
]

function textOf(
  name: string,
  readings: readonly number[],
  statuses: Readonly<Record<number, number>>,
  faults: readonly string[],
): string {
  const fifth = Math.max(1, Math.floor(readings.length / 5))
  const early = median(readings.slice(fifth, 2 * fifth))
  const late = median(readings.slice(-fifth))
  const most = Math.max(...readings)
  const flat = late <= early * GROWTH_LIMIT
  const plot = readings.map((mb, at) => {
    const bar = '█'.repeat(Math.round((mb / most) * PLOT_WIDTH))
    const requests = String((at + 1) * STEP).padStart(9)
    return `  ${requests}  ${bar.padEnd(PLOT_WIDTH)}  ${mb.toFixed(0)} MB`
  })
  return [
    `memory of ${name} over ${readings.length * STEP} mixed requests, ${CONNECTIONS} connections`,
    ...plot,
    `  responses by status: ${JSON.stringify(statuses)}`,
    `  second fifth ${early.toFixed(0)} MB, last fifth ${late.toFixed(0)} MB,` +
      ` limit × ${GROWTH_LIMIT}: ${flat ? 'flat' : 'GROWS'}`,
    ...faults.map((fault) => `  BROKEN  ${fault}`),
  ].join('\n')
}
