/**
 * `npm test [FILE …]` and `npm run test:all`. Files that share a process (`plan.ts`) form groups;
 * `node:test` runs the module of a group as one file; it defines a suite for each of its files.
 */
import { globSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { finished } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { globalSetup, globalTeardown } from './global.ts'
import { planOf } from './plan.ts'

const root = join(import.meta.dirname, '../..')
const urlOf = (path: string): string => pathToFileURL(join(root, path)).href

/** Bounds the memory and the databases of a process. */
const GROUP_FILES = 24
/** Of each test, and of each hook. */
const TIMEOUT_MS = 300_000
/** The server of the tests has 300 connections. */
const PROCESSES_MAX = 4

/** Divides files evenly, in their order. */
function groupsOf(files: readonly string[]): string[][] {
  const count = Math.ceil(files.length / GROUP_FILES)
  const boundary = (n: number) => Math.floor((n * files.length) / count)
  return Array.from({ length: count }, (_, n) => files.slice(boundary(n), boundary(n + 1)))
}

/** Writes the module of each group, and returns their paths. */
function writeGroups(groups: readonly string[][], folder: string): string[] {
  return groups.map((group, n) => {
    const path = join(folder, `group-${n + 1}.mjs`)
    const entries = JSON.stringify(group.map((file) => [file, urlOf(file)]))
    const lines = [`import { defineFiles } from '${urlOf('test/rig/group.ts')}'`]
    writeFileSync(path, [...lines, `defineFiles(${entries})`, ''].join('\n'))
    return path
  })
}

/** Returns the paths of the files that match, relative to the root. */
const filesOf = (patterns: readonly string[]): string[] =>
  globSync(patterns.map((pattern) => resolve(pattern)))
    .map((path) => relative(root, path))
    .sort()

const { values, positionals } = parseArgs({
  options: { all: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const isNamed = positionals.length > 0
const plan = planOf(isNamed ? filesOf(positionals) : undefined)
const isDeep = values.all || isNamed
const own = [...plan.alone, ...(isDeep ? plan.long : [])]
const { shared, commands } = plan
if ([...shared, ...commands, ...own].length === 0) throw new Error(`no file matches ${positionals}`)
if (!isDeep) process.env.GATEHOOK_TEST_SLICE = '1'

await globalSetup()
const grouped = [...groupsOf(commands), ...groupsOf(shared)]
const groups = writeGroups(grouped, process.env.GATEHOOK_TEST_MODULES!)
console.log(`${grouped.flat().length} files share ${groups.length} processes`)
console.log(`${own.length} files have a process each`)
if (!isDeep) console.log(`${plan.long.length} files run in \`npm run test:all\` only`)

const events = run({
  files: [...groups, ...own.map((path) => join(root, path))],
  // One more than cores: tests of retries and of takeovers wait most of the time.
  concurrency: Math.min(availableParallelism() + 1, PROCESSES_MAX),
  timeout: TIMEOUT_MS,
  execArgv: [`--import=${join(import.meta.dirname, 'modules.ts')}`],
})
events.on('test:fail', () => {
  process.exitCode = 1
})
const report = events.compose(new spec())
report.pipe(process.stdout)
await finished(report)
await globalTeardown()
