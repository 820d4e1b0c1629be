/**
 * Row 15: the time from a durable event to its arrival, alone on the engine, and beside a customer
 * with a hanging receiver and one with a flood. Each round runs two processes in turn.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Figure } from '../figures.ts'
import { median, ratioText, spread } from '../statistics.ts'

/** Time from the event to its arrival, milliseconds. */
interface Latency {
  readonly p50: number
  readonly p95: number
}

const contender = fileURLToPath(new URL('neighbour-contender.ts', import.meta.url))

async function run(neighbours: 'quiet' | 'noisy', rates: Rates): Promise<Latency> {
  const { stdout } = await promisify(execFile)(process.execPath, [contender, neighbours, rates])
  return JSON.parse(stdout)
}

/** Delivery rates: the default, or off, so that the flood takes all available CPU. */
type Rates = 'default' | 'unlimited'

export async function neighbourRow(rounds: number): Promise<Figure[]> {
  return [await compare('default', rounds), await compare('unlimited', rounds)]
}

async function compare(rates: Rates, rounds: number): Promise<Figure> {
  const [quiet, noisy]: [Latency[], Latency[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    quiet.push(await run('quiet', rates))
    noisy.push(await run('noisy', rates))
  }
  const of = (all: readonly Latency[]) => ({
    'p50 ms': median(all.map((latency) => latency.p50)),
    'p95 ms': median(all.map((latency) => latency.p95)),
  })
  console.log(`row 15, event to arrival, rates of customers: ${rates}`)
  console.table({ quiet: of(quiet), noisy: of(noisy) })
  const ratios = noisy.map((latency, at) => latency.p95 / quiet[at]!.p95)
  const target = rates === 'default' ? '; target at most 2' : ', for comparison'
  console.log(`p95, noisy ÷ quiet: ${ratioText(ratios)}${target}`)
  return {
    row: '15',
    title: 'event to arrival beside a hanging and a flooding customer',
    subject: `noisy ÷ quiet, ${rates === 'default' ? 'default rates' : 'rates off'}`,
    database: 'sqlite',
    unit: 'ratio of p95',
    value: spread(ratios),
    most: rates === 'default' ? 2 : undefined,
  }
}
