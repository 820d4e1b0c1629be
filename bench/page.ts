/**
 * `npm run bench:page [-- --rounds 3 --seconds 2 --only name]`: measures every row in one run, on
 * both databases, and stores the figures in `docs/reference/performance.json`, from which
 * `npm run docs` writes the page. `--only` repeats one part and retains the figures of the others.
 * Exit codes: 1 if a part failed, 2 for usage.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Figure } from './figures.ts'

/** One run: where and when, and the figures of each part. */
export interface Performance {
  readonly node: string
  readonly cpu: string
  readonly cores: number
  readonly rounds: number
  readonly seconds: number
  readonly parts: Readonly<Record<string, PerformancePart>>
}

interface PerformancePart {
  /** ISO 8601. */
  readonly at: string
  readonly figures: readonly Figure[]
}

/** Rows that PostgreSQL serves too; the others are about SQLite, peers, or PostgreSQL already. */
const BOTH = ['1@100k', '1b', '3', '4', '5', '6', '7', '8', '9', '17', '18', '23', '25', '26']
const HERE = new URL('.', import.meta.url)
const FILE = fileURLToPath(new URL('../docs/reference/performance.json', HERE))

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    only: { type: 'string', multiple: true },
  },
})
const length = ['--rounds', values.rounds, '--seconds', values.seconds]
/** The commands, in the order in which they run. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  sqlite: ['main.ts', ...length],
  postgres: ['main.ts', ...BOTH, '--database', 'postgres', ...length],
  deliveries: ['deliveries/main.ts', '--rounds', values.rounds],
  queues: ['peers/queues/main.ts', '--rounds', values.rounds],
  beside: ['deliveries/run-beside.ts', ...length],
}
const names = values.only ?? Object.keys(PARTS)
const unknown = names.filter((name) => !(name in PARTS))
if (unknown.length > 0 || !(Number(values.rounds) >= 1) || !(Number(values.seconds) > 0)) {
  console.error(`unknown: ${unknown.join(' ')}; parts: ${Object.keys(PARTS).join(' ')}`)
  process.exit(2)
}
process.exitCode = (await main()) ? 0 : 1

async function main(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehook-bench-'))
  const parts: Record<string, PerformancePart> = { ...storedParts() }
  let isComplete = true
  try {
    for (const [at, name] of names.entries()) {
      process.stderr.write(`part ${at + 1} of ${names.length}: ${name}\n`)
      const figures = await measurePart(name, join(folder, `${name}.json`))
      if (figures) parts[name] = { at: new Date().toISOString(), figures }
      else isComplete = false
      store(parts)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  console.log(`${FILE}\nnpm run docs writes the page`)
  return isComplete
}

/** Returns the figures of a command; undefined if it failed. */
async function measurePart(name: string, file: string): Promise<readonly Figure[] | undefined> {
  const [script, ...options] = PARTS[name]!
  const args = [fileURLToPath(new URL(script!, HERE)), ...options, '--figures', file]
  const [code] = await once(spawn(process.execPath, args, { stdio: 'inherit' }), 'exit')
  if (code !== 0) process.stderr.write(`part ${name} ended with ${code}\n`)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}

/** With `--only`, the other parts of the last run remain. */
function storedParts(): Performance['parts'] {
  if (!values.only || !existsSync(FILE)) return {}
  return (JSON.parse(readFileSync(FILE, 'utf8')) as Performance).parts
}

function store(parts: Performance['parts']): void {
  const performance: Performance = {
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    parts,
  }
  writeFileSync(FILE, `${JSON.stringify(performance, roundFigure, 2)}\n`)
}

/** Three significant digits are more than a repeated run shares. */
function roundFigure(_: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value)
    ? Number(value.toPrecision(3))
    : value
}
