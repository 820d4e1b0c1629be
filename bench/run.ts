/**
 * Runs one row: prepares data, starts contenders, warms them up, sends requests to them in turn,
 * checks responses and computes ratios. Reports progress to the callback only.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Contender } from './contender.ts'
import { assertCredentialRequired } from './credential.ts'
import type { Outcome } from './drive.ts'
import type { BenchRequest, Generator } from './load.ts'
import type { LoadRow, Side, Target } from './row.ts'
import { endSignal, type Server, startServer } from './server.ts'
import { median, type Spread, spread } from './statistics.ts'

export interface RunContext {
  readonly rounds: number
  readonly seconds: number
  readonly generator: Generator
  /** Folder for the data of contenders; the caller removes it. */
  readonly folder: string
  /** Core of the servers; undefined if not pinned. */
  readonly core: number | undefined
  progress(line: string): void
}

interface SideResult {
  readonly name: string
  /** Requests per second, one figure per round. */
  readonly rates: readonly number[]
  readonly rate: Spread
  /** User and system time of the server per response, microseconds. */
  readonly cpuMicros: number | undefined
  /** `Contender.databaseMicros` per response. */
  readonly databaseMicros: number | undefined
  /** Microseconds, medians over the rounds. */
  readonly p50: number
  readonly p99: number
  /** One figure per round. */
  readonly p99s: readonly number[]
  readonly rssMb: number | undefined
  /** CPU use of the load generator, 0 to 1; the maximum over the rounds. */
  readonly generatorBusy: number
}

export interface RatioResult extends Target {
  readonly ratio: Spread
  /** The ratio of CPU time per response, of the database too: more stable on a shared machine. */
  readonly byCpu: number | undefined
  readonly met: boolean
}

export interface LoadResult {
  readonly kind: 'load'
  readonly row: Omit<LoadRow, 'sides' | 'targets'>
  readonly sides: readonly SideResult[]
  readonly ratios: readonly RatioResult[]
  /** Failures and wrong responses. */
  readonly faults: readonly string[]
}

const SAMPLES = 24
const WARM_SECONDS = 3

interface Contestant {
  readonly side: Side
  readonly server: Server
  readonly others: readonly Server[]
  requests: readonly BenchRequest[]
  readonly list: string
  readonly rounds: Round[]
  acknowledged: number
}

interface Round {
  readonly outcome: Outcome
  readonly cpuMicros: number | undefined
  readonly databaseMicros: number | undefined
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
    for (const contestant of contestants) {
      context.progress(`${contestant.side.name}: warming up`)
      const seconds = Math.min(WARM_SECONDS, context.seconds * 2)
      await runRound(contestant, row, { ...context, seconds }, faults)
      contestant.rounds.length = 0
    }
    for (let round = 1; round <= context.rounds; round++) {
      for (const contestant of contestants) {
        const rate = await runRound(contestant, row, context, faults)
        const figure = Math.round(rate).toLocaleString('en')
        context.progress(`round ${round}/${context.rounds}: ${contestant.side.name} ${figure}/s`)
      }
    }
    const sides = contestants.map(summary)
    for (const [n, { cpuMicros = 0, p99 }] of sides.entries()) {
      const p99Ms = p99 / 1000
      const { name, mostCpuMicros = cpuMicros, mostP99Ms = p99Ms } = row.sides[n]!
      const cpu = `${Math.round(cpuMicros)} µs of CPU per response, target ${mostCpuMicros}`
      if (cpuMicros > mostCpuMicros) faults.push(`${name}: ${cpu}`)
      const latency = `a p99 of ${p99Ms.toFixed(2)} ms, target ${mostP99Ms}`
      if (p99Ms > mostP99Ms) faults.push(`${name}: ${latency}`)
    }
    await auditData(contestants, servers, context, faults)
    const { kind, name, title, facts } = row
    const ratios = row.targets.flatMap((target) => ratioOf(target, sides))
    return { kind, row: { kind, name, title, facts }, sides, ratios, faults: [...new Set(faults)] }
  } finally {
    for (const server of servers.values()) await server.end(endSignal())
  }
}

/** Prepares the data of a contender. Renames the finished folder, so that it is never partial. */
export async function prepareData(
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
    const running = servers.get(contender.key)
    if (running) return running
    const folder = await prepareData(contender, context)
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
  const contestant: Contestant = {
    side,
    server,
    others,
    requests: [],
    list,
    rounds: [],
    acknowledged: 0,
  }
  if (row.each === undefined) await gather(contestant, context)
  if (side.credential) {
    await assertCredentialRequired(side.credential, server.url, contestant.requests[0])
  }
  return contestant
}

async function gather(contestant: Contestant, { generator }: RunContext): Promise<void> {
  contestant.requests = await contestant.side.requests(contestant.server.url)
  await generator.list(contestant.list, contestant.requests)
}

/** Runs one round of one side and returns its rate. */
async function runRound(
  contestant: Contestant,
  row: LoadRow,
  context: RunContext,
  faults: string[],
): Promise<number> {
  const { side, server, others } = contestant
  const { connections } = row.facts
  if (row.each !== undefined) await gather(contestant, context)
  const length = row.each === undefined ? { seconds: context.seconds } : { count: row.each }
  const stop = new AbortController()
  const beside = side.beside?.(server.url, stop.signal)
  const before = [cpuOf([server, ...others]), await side.contender.databaseMicros?.()]
  const also = others.map(({ port }) => port)
  const options = { connections, ...length, also, samples: SAMPLES }
  const outcome = await context.generator.run(contestant.list, server.port, options)
  const after = [cpuOf([server, ...others]), await side.contender.databaseMicros?.()]
  stop.abort()
  await beside
  for (const each of [server, ...others]) each.trimLog()
  const [cpuMicros, databaseMicros] = before.map((from, n) => {
    const to = after[n]
    const isMeasured = from !== undefined && to !== undefined && outcome.answers > 0
    return isMeasured ? (to - from) / outcome.answers : undefined
  })
  contestant.rounds.push({ outcome, cpuMicros, databaseMicros })
  const expectedStatus = side.status ?? 200
  contestant.acknowledged += outcome.statuses[expectedStatus] ?? 0
  for (const problem of problems(contestant, outcome, expectedStatus))
    faults.push(`${side.name}: ${problem}`)
  return outcome.rate
}

function cpuOf(servers: readonly Server[]): number | undefined {
  const times = servers.map((server) => server.cpuMicros())
  return times.every((time) => time !== undefined) ? times.reduce((a, b) => a + b, 0) : undefined
}

function* problems(
  contestant: Contestant,
  outcome: Outcome,
  expectedStatus: number,
): Iterable<string> {
  for (const [error, count] of Object.entries(outcome.errors)) yield `${error} (${count} ×)`
  for (const [status, count] of Object.entries(outcome.statuses)) {
    if (Number(status) !== expectedStatus)
      yield `status ${status} (${count} ×) instead of ${expectedStatus}`
  }
  if (outcome.answers === 0) yield 'no responses'
  for (const sample of outcome.samples) {
    if (sample.status !== expectedStatus) continue
    let wrong: string | undefined
    try {
      wrong = contestant.side.check(contestant.requests[sample.index]!, sample)
    } catch (error) {
      wrong = `the response cannot be read: ${(error as Error).message}`
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
    databaseMicros: medianOf(rounds.map(({ databaseMicros }) => databaseMicros)),
    p50: median(rounds.map(({ outcome }) => outcome.latency.p50)),
    p99: median(p99s),
    p99s,
    rssMb: rss === undefined ? undefined : rss / 2 ** 20,
    generatorBusy: Math.max(...rounds.map(({ outcome }) => outcome.busy)),
  }
}

function medianOf(figures: readonly (number | undefined)[]): number | undefined {
  const figuresOfRounds = figures.filter((figure) => figure !== undefined)
  return figuresOfRounds.length === 0 ? undefined : median(figuresOfRounds)
}

/** CPU time of server and database per response. */
const totalMicros = ({ cpuMicros, databaseMicros = 0 }: SideResult) =>
  cpuMicros && cpuMicros + databaseMicros

/** Pairs rounds: a disturbance of some seconds affects both sides of a ratio. */
function ratioOf(target: Target, sides: readonly SideResult[]): RatioResult[] {
  const of = sides.find(({ name }) => name === target.of)
  const to = sides.find(({ name }) => name === target.to)
  if (!of || !to) return []
  const figures = ({ rates, p99s }: SideResult) => (target.figure === 'p99' ? p99s : rates)
  const ratio = spread(figures(of).map((figure, round) => figure / figures(to)[round]!))
  const met =
    ratio.median >= (target.least ?? 0) && ratio.median <= (target.most ?? Number.POSITIVE_INFINITY)
  const [ofMicros, toMicros] = [totalMicros(of), totalMicros(to)]
  const byCpu = target.figure !== 'p99' && ofMicros && toMicros && toMicros / ofMicros
  return [{ ...target, ratio, byCpu: byCpu || undefined, met }]
}

async function auditData(
  contestants: readonly Contestant[],
  servers: Map<string, Server>,
  context: RunContext,
  faults: string[],
): Promise<void> {
  for (const { side, acknowledged } of contestants) {
    if (!side.audit) continue
    await servers.get(side.contender.key)?.end(endSignal())
    const wrong = await side.audit(join(context.folder, side.contender.folder), acknowledged)
    if (wrong) faults.push(`${side.name}: ${wrong}`)
  }
}
