/**
 * `npm run bench:queues [-- --rounds N --count N]`: row 12, deliveries by the engine and by job
 * queues that use its transport. Sides are separate processes that run in turn. Ratios compare
 * results of one round.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import type { Measured } from '../../deliveries/common.ts'
import { type Figure, ratioFigure, writeFigures } from '../../figures.ts'
import { median, ratioText } from '../../statistics.ts'

/** The result of `side.ts`. */
export interface QueueMeasured extends Measured {
  /** CPU time of the database per delivery; undefined if the OS does not report it. */
  readonly databaseCpuUs: number | undefined
}

const FACTS = [
  'durability: each as it is by default. PostgreSQL: fsync and synchronous_commit on. SQLite:',
  '  events synced before they count, results committed and synced within 10 ms. Redis: snapshots',
  '  only, so that a crash loses what came after the last one',
  'connections: 20 to the receiver, plain HTTP, no TLS; one registration, one body, one signature',
  'rows: all are pending at the start of a run, and 10,000 more for the warm-up',
  'stored: the engine each attempt with its response, pg-boss each job, the others nothing',
]

const ENGINE = 'gatehook on SQLite'
const SHARED = 'gatehook on PostgreSQL'
const TARGETS = [
  { of: ENGINE, to: 'graphile-worker', least: 1.5 },
  { of: ENGINE, to: 'pg-boss', least: 2 },
  { of: ENGINE, to: 'BullMQ', least: 2.5 },
  { of: SHARED, to: 'graphile-worker', least: undefined },
  { of: SHARED, to: 'pg-boss', least: undefined },
  { of: SHARED, to: 'BullMQ', least: undefined },
]

const hasRedis = (process.env.PATH ?? '')
  .split(delimiter)
  .some((folder) => existsSync(join(folder, 'redis-server')))

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    count: { type: 'string', default: '40000' },
    figures: { type: 'string' },
  },
})
const names = [ENGINE, SHARED, 'graphile-worker', 'pg-boss', ...(hasRedis ? ['BullMQ'] : [])]
const file = fileURLToPath(new URL('side.ts', import.meta.url))

async function run(name: string): Promise<QueueMeasured> {
  const { stdout } = await promisify(execFile)(process.execPath, [file, name, values.count])
  return JSON.parse(stdout)
}

const results = new Map<string, QueueMeasured[]>(names.map((name) => [name, []]))
for (let round = 1; round <= Number(values.rounds); round++) {
  for (const name of names) {
    process.stderr.write(`round ${round}: ${name}\n`)
    results.get(name)!.push(await run(name))
  }
}

function line(all: readonly QueueMeasured[]) {
  const rates = all.map((result) => result.perSecond)
  const database = all
    .map((result) => result.databaseCpuUs)
    .filter((result) => result !== undefined)
  return {
    'per s': median(rates),
    'min–max': `${Math.min(...rates)}–${Math.max(...rates)}`,
    'CPU µs': median(all.map((result) => result.cpuUs)),
    'database CPU µs': database.length === all.length ? median(database) : 'unknown',
    'RSS MB': median(all.map((result) => result.rssMb)),
  }
}

const cpuOf = ({ cpuUs, databaseCpuUs = 0 }: QueueMeasured) => cpuUs + databaseCpuUs

console.log(`row 12, ${values.count} deliveries by the same transport`)
for (const fact of FACTS) console.log(`  ${fact}`)
if (!hasRedis) console.log('BullMQ was left out: there is no redis-server on the PATH')
console.table(Object.fromEntries([...results].map(([name, all]) => [name, line(all)])))
const figures: Figure[] = []
for (const { of, to, least } of TARGETS) {
  const [ours, theirs] = [results.get(of)!, results.get(to)]
  if (!theirs) continue
  const rates = ours.map((result, round) => result.perSecond / theirs[round]!.perSecond)
  const cpu = ours.map((result, round) => cpuOf(theirs[round]!) / cpuOf(result))
  const figure = {
    row: '12',
    title: 'deliveries by the same transport',
    subject: `${of} ÷ ${to}`,
    database: of === SHARED ? 'postgres' : 'sqlite',
    least,
    byCpu: median(cpu),
  } as const
  const perSecond = (all: readonly QueueMeasured[]) => all.map((result) => result.perSecond)
  figures.push(ratioFigure(figure, perSecond(ours), perSecond(theirs)))
  const target = least === undefined ? 'for comparison' : `target at least ${least}`
  console.log(`${of} ÷ ${to}: ${ratioText(rates)}, by CPU ${ratioText(cpu)}; ${target}`)
}
writeFigures(values.figures, figures)
