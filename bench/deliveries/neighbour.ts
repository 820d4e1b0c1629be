/**
 * Row 15: how long a customer's event takes to its receiver, alone on the engine, and beside one
 * whose receiver hangs and one with a flood to be delivered. Each round two processes, in turn.
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

async function run(neighbours: 'quiet' | 'noisy'): Promise<Latency> {
  const { stdout } = await promisify(execFile)(process.execPath, [contender, neighbours])
  return JSON.parse(stdout)
}

export async function neighbourRow(rounds: number): Promise<void> {
  const [quiet, noisy]: [Latency[], Latency[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    quiet.push(await run('quiet'))
    noisy.push(await run('noisy'))
  }
  const of = (all: readonly Latency[]) => ({
    'p50 ms': median(all.map((one) => one.p50)),
    'p95 ms': median(all.map((one) => one.p95)),
  })
  console.log('row 15, event to arrival')
  console.table({ quiet: of(quiet), noisy: of(noisy) })
  const ratios = noisy.map((one, at) => one.p95 / quiet[at]!.p95)
  console.log(`p95, noisy ÷ quiet: ${ratioText(ratios)}; target at most 2`)
}
