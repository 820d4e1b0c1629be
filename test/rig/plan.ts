/**
 * Divides the test files among processes. Files share a process, which loads the engine once,
 * unless they change what belongs to a whole process. `npm test` leaves out those that start
 * programs or database servers, and those that take long.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { filesImportedBy } from './imports.ts'

const root = join(import.meta.dirname, '../..')

const PATTERNS = [
  'packages/*/src/**/*.test.ts',
  'packages/*/test/**/*.test.ts',
  'test/**/*.test.ts',
]

/** Files of one process that only `npm run test:all` runs, with the reason. */
export const LONG: Readonly<Record<string, string>> = {
  'packages/gatehook/test/cli/import.test.ts': 'a process for each command of its project',
  'packages/gatehook/test/cli/move.test.ts': 'moves in both directions',
  'packages/gatehook/test/documentation/requests-of-documents.test.ts': 'requests of all examples',
  'packages/gatehook/test/lists/bounded.test.ts': 'walks of random lists',
  'packages/gatehook/test/lists/related-order.test.ts': 'walks in each order',
  'packages/gatehook/test/lists/walks.test.ts': 'walks of random lists',
  'packages/gatehook/test/storage/move-declared-data.test.ts': 'moves in both directions',
  'packages/gatehook/test/storage/move-every-state.test.ts': 'moves in both directions',
  'packages/gatehook/test/storage/move-text-ids.test.ts': 'moves in both directions',
  'packages/gatehook/test/storage/move.test.ts': 'moves in both directions',
  'test/chaos/hostile.test.ts': 'an attacker and its victims in one process',
  'test/build/packages.test.ts': 'compiles all packages',
}

/** Commands of the command line share a process (`cli/command.ts`). */
const COMMANDS = 'packages/gatehook/test/cli/command.ts'
/** Files that start programs only for the whole run. */
const RIG = [COMMANDS, 'test/rig/postgres.ts', 'test/rig/databases.ts', 'test/rig/global.ts']
const STARTS_PROGRAM = /from 'node:child_process'|\b(startPostgres|launch|ownProcess)\(/
/** The environment of a process, and counters in all code that it compiles. */
const CHANGES_PROCESS =
  /\bprocess\.env(\.\w+|\[[^\]]+\]) *(\?\?)?=[^=]|\bdelete process\.env\b|\bstartCounting\(/

const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const isOfTests = (path: string): boolean =>
  /(^|\/)test\/.*\.ts$/.test(path) && existsSync(join(root, path))

/** Returns a file of tests and those that it imports, also indirectly. */
function reach(path: string, reached = new Set<string>()): Set<string> {
  if (reached.has(path)) return reached
  reached.add(path)
  for (const name of filesImportedBy(path)) if (isOfTests(name)) reach(name, reached)
  return reached
}

const startsProgram = (path: string): boolean =>
  !RIG.includes(path) && STARTS_PROGRAM.test(read(path))

export interface Plan {
  /** Files that share processes. */
  readonly shared: readonly string[]
  /** Files that share processes, and one process for their commands. */
  readonly commands: readonly string[]
  /** Files with a process each: they change what belongs to a whole process. */
  readonly alone: readonly string[]
  /** Files with a process each that `npm test` leaves out. */
  readonly long: readonly string[]
}

/** Divides files; without a list, all of the project. */
export function planOf(
  files: readonly string[] = globSync(PATTERNS, { cwd: root }).sort(),
  slow: Readonly<Record<string, string>> = LONG,
): Plan {
  const [shared, commands, alone, long]: [string[], string[], string[], string[]] = [[], [], [], []]
  for (const path of files) {
    const reached = [...reach(path)]
    if (path in slow || reached.some(startsProgram)) long.push(path)
    else if (CHANGES_PROCESS.test(read(path))) alone.push(path)
    else if (reached.includes(COMMANDS)) commands.push(path)
    else shared.push(path)
  }
  return { shared, commands, alone, long }
}
