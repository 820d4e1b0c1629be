/**
 * Row 15: how long a customer's event takes to its receiver, alone on the engine, and beside one
 * whose receiver hangs and one with a flood to be delivered. Each round two processes, in turn.
 * From the moment the event is recorded, durably: how long that takes is row 13's.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { median, ratioText } from './ratios.ts'

/** From the event's record to its arrival, milliseconds. */
export interface Latency {
  readonly p50: number
  readonly p95: number
}

const contender = fileURLToPath(new URL('neighbour-contender.ts', import.meta.url))

async function run(neighbours: 'quiet' | 'noisy', rates: Rates): Promise<Latency> {
  const { stdout } = await promisify(execFile)(process.execPath, [contender, neighbours, rates])
  return JSON.parse(stdout)
}

/** As a service is shipped, or off: then the flood takes all the processor it can get. */
type Rates = 'default' | 'unlimited'

export async function neighbourRow(rounds: number): Promise<void> {
  await compare('default', rounds)
  await compare('unlimited', rounds)
}

async function compare(rates: Rates, rounds: number): Promise<void> {
  const [quiet, noisy]: [Latency[], Latency[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    quiet.push(await run('quiet', rates))
    noisy.push(await run('noisy', rates))
  }
  const of = (all: readonly Latency[]) => ({
    'p50 ms': median(all.map((one) => one.p50)),
    'p95 ms': median(all.map((one) => one.p95)),
  })
  console.log(`row 15, event to arrival, rates of customers: ${rates}`)
  console.table({ quiet: of(quiet), noisy: of(noisy) })
  const ratios = noisy.map((one, at) => one.p95 / quiet[at]!.p95)
  const target = rates === 'default' ? '; target at most 2' : ', for comparison'
  console.log(`p95, noisy ÷ quiet: ${ratioText(ratios)}${target}`)
}
