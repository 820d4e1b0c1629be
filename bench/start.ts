/** Runs a row about process start: seconds from spawn to the first response, memory at rest. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { StartRow, StartSide } from './row.ts'
import { prepareData, type RunContext } from './run.ts'
import { startServer } from './server.ts'
import { type Spread, spread } from './statistics.ts'

export interface StartSideResult {
  readonly name: string
  /** From spawn to the end of the first response. */
  readonly seconds: Spread
  readonly restMb: Spread | undefined
  readonly atMost: StartSide['atMost']
  /** Undefined without a target. */
  readonly met: boolean | undefined
}

export interface StartResult {
  readonly kind: 'start'
  readonly row: Omit<StartRow, 'sides'>
  readonly sides: readonly StartSideResult[]
  readonly faults: readonly string[]
}

/** Long enough to collect the garbage of a start. */
const REST_MS = 2000

export async function runStartRow(row: StartRow, context: RunContext): Promise<StartResult> {
  const faults: string[] = []
  const figures = row.sides.map((side) => ({ side, seconds: [] as number[], mb: [] as number[] }))
  for (let round = 1; round <= context.rounds; round++) {
    for (const figure of figures) {
      context.progress(`round ${round}/${context.rounds}: ${figure.side.name}`)
      try {
        const { seconds, restMb } = await startOnce(figure.side, context)
        figure.seconds.push(seconds)
        if (restMb !== undefined) figure.mb.push(restMb)
      } catch (error) {
        faults.push(`${figure.side.name}: ${(error as Error).message}`)
      }
    }
  }
  const { kind, name, title, facts } = row
  const sides = figures
    .filter(({ seconds }) => seconds.length > 0)
    .map(({ side, seconds, mb }) => result(side, spread(seconds), mb))
  return { kind, row: { kind, name, title, facts }, sides, faults: [...new Set(faults)] }
}

function result(side: StartSide, seconds: Spread, mb: readonly number[]): StartSideResult {
  const { name, atMost } = side
  const restMb = mb.length === 0 ? undefined : spread(mb)
  const met = atMost && seconds.median <= atMost.seconds && (restMb?.median ?? 0) <= atMost.restMb
  return { name, seconds, restMb, atMost, met }
}

/** Starts a contender once, on any core. */
async function startOnce(side: StartSide, context: RunContext) {
  const { contender, request } = side
  if (side.fresh) rmSync(join(context.folder, contender.folder), { recursive: true, force: true })
  const folder = await prepareData(contender, context)
  const command = contender.command(folder)
  const began = performance.now()
  const server = await startServer(command, join(folder, 'start.log'), undefined)
  try {
    const response = await fetch(server.url + request.target, {
      headers: { ...request.headers, connection: 'close' },
    })
    await response.text()
    const seconds = (performance.now() - began) / 1000
    if (response.status !== 200) throw new Error(`the first response was ${response.status}`)
    await sleep(REST_MS)
    const rss = server.rssBytes()
    return { seconds, restMb: rss === undefined ? undefined : rss / 2 ** 20 }
  } finally {
    const code = await server.end('SIGTERM')
    if (code !== 0) context.progress(`${side.name}: ended with ${code} on SIGTERM`)
  }
}
