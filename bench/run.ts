/**
 * Runs one row: prepares data, starts contenders, warms them, asks them in turn, judges answers and
 * ratios. Prints nothing; progress goes to the callback.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Contender } from './contenders.ts'
import { assertAskedFor } from './credential.ts'
import type { Outcome } from './drive.ts'
import type { Ask, Generator } from './load.ts'
import type { LoadRow, Side, Target } from './row.ts'
import { type Server, startServer } from './server.ts'
import { median, type Spread, spread } from './statistics.ts'

export interface RunContext {
  readonly rounds: number
  readonly seconds: number
  readonly generator: Generator
  /** Where contenders keep their data; removed by the caller. */
  readonly folder: string
  /** Core for servers; undefined: wherever the system puts them. */
  readonly core: number | undefined
  progress(line: string): void
}

export interface SideResult {
  readonly name: string
  /** Requests per second, one figure a round. */
  readonly rates: readonly number[]
  readonly rate: Spread
  /** User and system time of the server per answer, microseconds. */
  readonly cpuMicros: number | undefined
  /** The same of `Side.sharedMicros`. */
  readonly sharedMicros: number | undefined
  /** Microseconds, medians over the rounds. */
  readonly p50: number
  readonly p99: number
  /** One figure a round. */
  readonly p99s: readonly number[]
  readonly rssMb: number | undefined
  /** How busy the load generator was, 0 to 1; the most of all rounds. */
  readonly generatorBusy: number
}

export interface RatioResult extends Target {
  readonly ratio: Spread
  /** The same ratio by CPU time per answer: steadier where others use the machine. Not judged. */
  readonly byCpu: number | undefined
  readonly met: boolean
}

export interface LoadResult {
  readonly kind: 'load'
  readonly row: Omit<LoadRow, 'sides' | 'targets'>
  readonly sides: readonly SideResult[]
  readonly ratios: readonly RatioResult[]
  /** What broke or was wrong; nothing when empty. */
  readonly faults: readonly string[]
}

const SAMPLES = 24
const WARM_SECONDS = 3

interface Contestant {
  readonly side: Side
  readonly server: Server
  readonly others: readonly Server[]
  asks: readonly Ask[]
  readonly list: string
  readonly rounds: Round[]
  acknowledged: number
}

interface Round {
  readonly outcome: Outcome
  readonly cpuMicros: number | undefined
  readonly sharedMicros: number | undefined
}

export async function runLoadRow(row: LoadRow, context: RunContext): Promise<LoadResult> {
  const faults: string[] = []
  const servers = new Map<string, Server>()
  const contestants: Contestant[] = []
  try {
    for (const side of row.sides) {
      try {
        contestants.push(await enter(side, row, servers, context))
      } catch (error) {
        faults.push(`${side.name}: ${(error as Error).message}`)
      }
    }
    for (const one of contestants) {
      context.progress(`${one.side.name}: warming`)
      const warm = Math.min(WARM_SECONDS, context.seconds * 2)
      await ask(one, row, { ...context, seconds: warm }, faults)
      one.rounds.length = 0
    }
    for (let round = 1; round <= context.rounds; round++) {
      for (const one of contestants) {
        const rate = await ask(one, row, context, faults)
        const figure = Math.round(rate).toLocaleString('en')
        context.progress(`round ${round}/${context.rounds}: ${one.side.name} ${figure}/s`)
      }
    }
    const sides = contestants.map(summary)
    await audit(contestants, servers, context, faults)
    const { kind, name, title, facts } = row
    const ratios = row.targets.flatMap((target) => judge(target, sides))
    return { kind, row: { kind, name, title, facts }, sides, ratios, faults: [...new Set(faults)] }
  } finally {
    for (const server of servers.values()) await server.end('SIGKILL')
  }
}

/** The folder is made beside and moved into place: one that is there is whole. */
export async function prepared(
  contender: Contender,
  context: Pick<RunContext, 'folder' | 'progress'>,
): Promise<string> {
  const folder = join(context.folder, contender.folder)
  if (existsSync(folder)) return folder
  context.progress(`${contender.folder}: preparing data`)
  const unfinished = `${folder}.unfinished`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true })
  await contender.prepare(unfinished)
  renameSync(unfinished, folder)
  return folder
}

async function enter(
  side: Side,
  row: LoadRow,
  servers: Map<string, Server>,
  context: RunContext,
): Promise<Contestant> {
  const started = async (contender: Contender, core: number | undefined): Promise<Server> => {
    const known = servers.get(contender.key)
    if (known) return known
    const folder = await prepared(contender, context)
    context.progress(`${side.name}: starting`)
    const log = join(folder, `${contender.key}.log`)
    const server = await startServer(contender.command(folder), log, core)
    servers.set(contender.key, server)
    return server
  }
  const { core } = context
  const server = await started(side.contender, core)
  const others: Server[] = []
  for (const [n, other] of (side.others ?? []).entries()) {
    const own = Math.min(2 * (n + 1), availableParallelism() - 1)
    others.push(await started(other, core === undefined ? undefined : own))
  }
  context.progress(`${side.name}: gathering requests`)
  const list = `${row.name} ${side.name}`
  const one: Contestant = { side, server, others, asks: [], list, rounds: [], acknowledged: 0 }
  if (row.each === undefined) await gather(one, context)
  if (side.credential) await assertAskedFor(side.credential, server.url, one.asks[0])
  return one
}

async function gather(one: Contestant, { generator }: RunContext): Promise<void> {
  one.asks = await one.side.asks(one.server.url)
  await generator.list(one.list, one.asks)
}

/** One round of one side; gives its rate. */
async function ask(
  one: Contestant,
  row: LoadRow,
  context: RunContext,
  faults: string[],
): Promise<number> {
  const { side, server, others } = one
  const { connections } = row.facts
  if (row.each !== undefined) await gather(one, context)
  const length = row.each === undefined ? { seconds: context.seconds } : { count: row.each }
  const stop = new AbortController()
  const beside = side.beside?.(server.url, stop.signal)
  const before = [cpuOf([server, ...others]), await side.sharedMicros?.()]
  const also = others.map(({ port }) => port)
  const options = { connections, ...length, also, samples: SAMPLES }
  const outcome = await context.generator.run(one.list, server.port, options)
  const after = [cpuOf([server, ...others]), await side.sharedMicros?.()]
  stop.abort()
  await beside
  for (const each of [server, ...others]) each.trimLog()
  const [cpuMicros, sharedMicros] = before.map((from, n) => {
    const to = after[n]
    const known = from !== undefined && to !== undefined && outcome.answers > 0
    return known ? (to - from) / outcome.answers : undefined
  })
  one.rounds.push({ outcome, cpuMicros, sharedMicros })
  const wanted = side.status ?? 200
  one.acknowledged += outcome.statuses[wanted] ?? 0
  for (const problem of problems(one, outcome, wanted)) faults.push(`${side.name}: ${problem}`)
  return outcome.rate
}

function cpuOf(servers: readonly Server[]): number | undefined {
  const times = servers.map((server) => server.cpuMicros())
  return times.every((time) => time !== undefined) ? times.reduce((a, b) => a + b, 0) : undefined
}

function* problems(one: Contestant, outcome: Outcome, wanted: number): Iterable<string> {
  for (const [what, count] of Object.entries(outcome.errors)) yield `${what} (${count} ×)`
  for (const [status, count] of Object.entries(outcome.statuses)) {
    if (Number(status) !== wanted) yield `status ${status} (${count} ×) instead of ${wanted}`
  }
  if (outcome.answers === 0) yield 'no answers'
  for (const sample of outcome.samples) {
    if (sample.status !== wanted) continue
    let wrong: string | undefined
    try {
      wrong = one.side.check(one.asks[sample.index]!, sample)
    } catch (error) {
      wrong = `the answer cannot be read: ${(error as Error).message}`
    }
    if (wrong) yield `content: ${wrong}`
  }
}

function summary({ side, server, rounds }: Contestant): SideResult {
  const rates = rounds.map(({ outcome }) => outcome.rate)
  const rss = server.rssBytes()
  const p99s = rounds.map(({ outcome }) => outcome.latency.p99)
  return {
    name: side.name,
    rates,
    rate: spread(rates),
    cpuMicros: medianOf(rounds.map(({ cpuMicros }) => cpuMicros)),
    sharedMicros: medianOf(rounds.map(({ sharedMicros }) => sharedMicros)),
    p50: median(rounds.map(({ outcome }) => outcome.latency.p50)),
    p99: median(p99s),
    p99s,
    rssMb: rss === undefined ? undefined : rss / 2 ** 20,
    generatorBusy: Math.max(...rounds.map(({ outcome }) => outcome.busy)),
  }
}

function medianOf(figures: readonly (number | undefined)[]): number | undefined {
  const known = figures.filter((figure) => figure !== undefined)
  return known.length === 0 ? undefined : median(known)
}

/** Rounds are paired: what disturbs the machine for seconds disturbs both sides of a ratio. */
function judge(target: Target, sides: readonly SideResult[]): RatioResult[] {
  const of = sides.find(({ name }) => name === target.of)
  const to = sides.find(({ name }) => name === target.to)
  if (!of || !to) return []
  const figures = ({ rates, p99s }: SideResult) => (target.figure === 'p99' ? p99s : rates)
  const ratio = spread(figures(of).map((figure, round) => figure / figures(to)[round]!))
  const met =
    ratio.median >= (target.least ?? 0) && ratio.median <= (target.most ?? Number.POSITIVE_INFINITY)
  const byCpu =
    target.figure !== 'p99' && of.cpuMicros && to.cpuMicros && to.cpuMicros / of.cpuMicros
  return [{ ...target, ratio, byCpu: byCpu || undefined, met }]
}

async function audit(
  contestants: readonly Contestant[],
  servers: Map<string, Server>,
  context: RunContext,
  faults: string[],
): Promise<void> {
  for (const { side, acknowledged } of contestants) {
    if (!side.audit) continue
    await servers.get(side.contender.key)?.end('SIGKILL')
    const wrong = side.audit(join(context.folder, side.contender.folder), acknowledged)
    if (wrong) faults.push(`${side.name}: ${wrong}`)
  }
}
