/**
 * Runs a row about exports: one caller reads a whole list. Its rate is that of lines, and its cost
 * the allocated memory of the server above that after ordinary requests.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ExportRow, ExportSide } from './row.ts'
import { prepareData, type RunContext } from './run.ts'
import { endSignal, type Server, startServer } from './server.ts'
import { type Spread, spread } from './statistics.ts'

interface ExportSideResult {
  readonly name: string
  /** Lines per second, from the request to the last byte. */
  readonly rate: Spread
  /** User and system time of the server per line, microseconds. */
  readonly cpuMicros: Spread | undefined
  /** Most memory during an export above that of the server at rest. */
  readonly growthMb: Spread | undefined
  readonly target: ExportSide['target']
  readonly met: boolean
}

export interface ExportResult {
  readonly kind: 'export'
  readonly row: Omit<ExportRow, 'sides'>
  readonly sides: readonly ExportSideResult[]
  readonly faults: readonly string[]
}

interface Figure {
  readonly rate: number
  readonly cpuMicros: number | undefined
  readonly growthMb: number | undefined
}

const WARM_PAGES = 4000
const WARM_CALLERS = 8
const REST_MS = 2000
const MEMORY_INTERVAL_MS = 50
const NEWLINE = 10
/** No line is longer, bytes. */
const LINE_LIMIT = 4096

export async function runExportRow(row: ExportRow, context: RunContext): Promise<ExportResult> {
  const faults: string[] = []
  const figures = new Map(row.sides.map((side) => [side, [] as Figure[]]))
  for (let round = 1; round <= context.rounds; round++) {
    for (const [side, list] of figures) {
      context.progress(`round ${round}/${context.rounds}: ${side.name}`)
      try {
        list.push(await exportOnce(side, context))
      } catch (error) {
        faults.push(`${side.name}: ${(error as Error).message}`)
      }
    }
  }
  const { kind, name, title, facts } = row
  const sides = [...figures].filter(([, list]) => list.length > 0).map(resultOf)
  return { kind, row: { kind, name, title, facts }, sides, faults: [...new Set(faults)] }
}

function resultOf([{ name, target }, figures]: [ExportSide, Figure[]]): ExportSideResult {
  const rate = spread(figures.map((figure) => figure.rate))
  const cpuMicros = knownSpread(figures.map((figure) => figure.cpuMicros))
  const growthMb = knownSpread(figures.map((figure) => figure.growthMb))
  const met = rate.median >= target.rate && (growthMb?.median ?? 0) <= target.growthMb
  return { name, rate, cpuMicros, growthMb, target, met }
}

function knownSpread(values: readonly (number | undefined)[]): Spread | undefined {
  const figures = values.filter((value) => value !== undefined)
  return figures.length === 0 ? undefined : spread(figures)
}

/** Exports once from a server of its own, so that each round begins with memory at rest. */
async function exportOnce(side: ExportSide, context: RunContext): Promise<Figure> {
  const folder = await prepareData(side.contender, context)
  const command = side.contender.command(folder)
  const server = await startServer(command, join(folder, 'export.log'), context.core)
  try {
    await warmUp(side, server.url)
    await sleep(REST_MS)
    const memory = watchMemory(server)
    const cpuBefore = server.cpuMicros()
    const began = performance.now()
    const lines = await readLines(side, server.url)
    const seconds = (performance.now() - began) / 1000
    const growthMb = memory.end()
    const cpuAfter = server.cpuMicros()
    const fault = side.check(lines.first) ?? side.check(lines.last)
    if (fault !== undefined) throw new Error(fault)
    if (lines.count !== side.lines) throw new Error(`${lines.count} lines, not ${side.lines}`)
    const isKnown = cpuBefore !== undefined && cpuAfter !== undefined
    const cpuMicros = isKnown ? (cpuAfter - cpuBefore) / lines.count : undefined
    return { rate: lines.count / seconds, cpuMicros, growthMb }
  } finally {
    await server.end(endSignal())
  }
}

/** Reads pages, so that the memory of ordinary requests is no growth. */
async function warmUp({ request }: ExportSide, url: string): Promise<void> {
  const headers = { ...request.headers, accept: 'application/json' }
  const read = async () => {
    for (let n = 0; n < WARM_PAGES / WARM_CALLERS; n++) {
      await (await fetch(`${url}${request.target}?limit=100`, { headers })).arrayBuffer()
    }
  }
  await Promise.all(Array.from({ length: WARM_CALLERS }, read))
}

/** Reads the memory of a server until `end`, which returns the greatest growth, MB. */
function watchMemory(server: Server) {
  const start = server.allocatedBytes()
  let most = start ?? 0
  const timer = setInterval(() => {
    most = Math.max(most, server.allocatedBytes() ?? 0)
  }, MEMORY_INTERVAL_MS)
  return {
    end(): number | undefined {
      clearInterval(timer)
      return start === undefined ? undefined : (most - start) / 2 ** 20
    },
  }
}

/** Counts the lines of a response and returns the first and the last one. */
async function readLines({ request }: ExportSide, url: string) {
  const response = await fetch(url + request.target, { headers: { ...request.headers } })
  if (response.status !== 200) throw new Error(`the export was ${response.status}`)
  let count = 0
  let first: Buffer | undefined
  let last = Buffer.alloc(0)
  for await (const part of response.body!) {
    const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength)
    first ??= Buffer.from(bytes)
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count++
    last = Buffer.concat([last.subarray(-LINE_LIMIT), bytes.subarray(-LINE_LIMIT)])
  }
  return {
    count,
    first: (first ?? last).toString().split('\n')[0]!,
    last: last.toString().trimEnd().split('\n').at(-1)!,
  }
}
