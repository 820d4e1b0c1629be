/**
 * `npm run bench [-- row names] [--rounds 5] [--seconds 2] [--database postgres] [--json FILE]
 * [--figures FILE] [--without gatehook] [--profile FOLDER]`.
 * Exit codes: 1 for a failure or a wrong response, 2 for usage. A missed target is not a failure.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type DatabaseName, selectDatabase } from './database.ts'
import { runExportRow } from './export.ts'
import { figuresOf, writeFigures } from './figures.ts'
import { startGenerator } from './load.ts'
import { runMemory } from './memory.ts'
import { stopPostgres } from './postgres.ts'
import { type Result, reportOf } from './report.ts'
import type { Row } from './row.ts'
import { type RunContext, runLoadRow } from './run.ts'
import { writeProfiles } from './server.ts'
import { runStartRow } from './start.ts'

const POSTGRES_ROWS = ['16', '19', '27']

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    database: { type: 'string', default: 'sqlite' },
    json: { type: 'string' },
    figures: { type: 'string' },
    profile: { type: 'string' },
    without: { type: 'string', multiple: true, default: [] },
    list: { type: 'boolean', default: false },
    requests: { type: 'string', default: '1000000' },
    contender: { type: 'string', default: 'gatehook' },
  },
})

const database: DatabaseName = values.database === 'postgres' ? 'postgres' : 'sqlite'
selectDatabase(database)
if (values.profile !== undefined) writeProfiles(resolve(values.profile))
const rows = await allRows()
const selected = positionals.filter((name) => name !== 'memory')
const unknown = selected.filter((name) => !rows.some((row) => isSelectedBy(row, name)))
if (database !== values.database) unknown.push(values.database)
if (unknown.length > 0 || !(Number(values.rounds) >= 1) || !(Number(values.seconds) > 0)) {
  console.error(`unknown: ${unknown.join(' ') || 'rounds or seconds'}\n${catalogue()}`)
  process.exit(2)
}
if (values.list) {
  console.log(catalogue())
  process.exit()
}
process.exitCode = (await main()) ? 0 : 1

/** Resolves with true if no row failed. */
async function main(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehook-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
  const two = availableParallelism() > 1
  const generator = startGenerator(two ? 1 : undefined)
  const context: RunContext = {
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    generator,
    folder,
    core: two ? 0 : undefined,
    progress,
  }
  try {
    if (positionals.includes('memory')) {
      const memory = await runMemory(context, Number(values.requests), values.contender)
      clear()
      console.log(memory.text)
      return memory.faults.length === 0
    }
    return await runRows(context)
  } finally {
    generator.end()
    await stopPostgres()
  }
}

async function runRows(context: RunContext): Promise<boolean> {
  const results: Result[] = []
  for (const row of rows) {
    if (selected.length > 0 && !selected.some((name) => isSelectedBy(row, name))) continue
    const labelled = {
      ...context,
      progress: (line: string) => progress(`row ${row.name}  ${line}`),
    }
    const remaining = { ...row, sides: row.sides.filter((side) => isIncluded(row, side)) } as Row
    if (
      remaining.sides.length < Math.min(2, row.sides.filter(({ name }) => !isExcluded(name)).length)
    ) {
      console.log(`row ${row.name} is skipped: no other contender is left\n`)
      continue
    }
    if (remaining.sides.length === 0) continue
    const result = await runRow(remaining, labelled)
    clear()
    console.log(`${reportOf(result)}\n`)
    results.push(result)
  }
  write(results)
  const figures = results.flatMap((result) => figuresOf(result, databaseOf(result.row.name)))
  writeFigures(values.figures, figures)
  return results.every(({ faults }) => faults.length === 0)
}

/** Some rows use PostgreSQL in every run. */
function databaseOf(row: string): DatabaseName {
  return POSTGRES_ROWS.includes(row) ? 'postgres' : database
}

function runRow(row: Row, context: RunContext): Promise<Result> {
  if (row.kind === 'load') return runLoadRow(row, context)
  return row.kind === 'start' ? runStartRow(row, context) : runExportRow(row, context)
}

function write(results: readonly Result[]): void {
  const at = new Date().toISOString()
  const file = resolve(
    values.json ?? join(import.meta.dirname, 'results', `${at.replaceAll(':', '-')}.json`),
  )
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: availableParallelism() }
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify({ at, machine, ...values, results }, null, 2)}\n`)
  console.log(file)
}

async function allRows(): Promise<Row[]> {
  const folder = new URL('rows/', import.meta.url)
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.ts'))
    .sort()
  const parts = await Promise.all(files.map((name) => import(new URL(name, folder).href)))
  return parts.flatMap((part: { rows: Row[] }) => part.rows)
}

/** `1` selects `1` and `1@100k`, not `18`. */
function isSelectedBy(row: Row, name: string): boolean {
  return row.name === name || row.name.startsWith(`${name}@`)
}

function isExcluded(side: string): boolean {
  return values.without.some((name) => side.startsWith(name))
}

/** Returns whether a side is selected and installed. */
function isIncluded(row: Row, { name, contender }: Row['sides'][number]): boolean {
  if (isExcluded(name)) return false
  const absent = contender.absent?.()
  if (absent !== undefined) console.log(`row ${row.name}  without ${name}: ${absent}`)
  return absent === undefined
}

function catalogue(): string {
  const width = Math.max(...rows.map(({ name }) => name.length))
  return rows.map(({ name, title }) => `  ${name.padEnd(width)}  ${title}`).join('\n')
}

function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`)
  else process.stderr.write(`${line}\n`)
}

function clear(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
}
