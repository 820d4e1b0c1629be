/**
 * Decisions about the database are in `platform/storage/`: one operation, or one text of a
 * statement, serves SQLite, PostgreSQL and distributed tables. `DATABASE_BRANCHES` lists the lines
 * elsewhere that branch on the database or a flag of it, with the reason of each; it only shrinks.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { DATABASE_BRANCHES } from './tidy-exceptions.ts'

const engine = join(import.meta.dirname, '../packages/gatehook/src')

const BRANCH = [
  // A flag of the dialect, also one that a function receives.
  /\bdialect\.(name|shared|distributed)\b/,
  /\{[^{}]*\b(name|shared|distributed)\b[^{}]*\}: (Pick<)?Dialect\b/,
  /\{[^{}]*\b(shared|distributed)\b[^{}]*\} = [^,;]*\bdialect\b/,
  /\bstore\.shared\b/,
  // A property that only one of the databases has.
  /\bgeneration [!=]== undefined/,
  /\bhasRoundTrips\b/,
  // The name of the database, or of its address.
  /[!=]== '(sqlite|postgres)'/,
  /\[(db\.name|database)\]/,
  /\.startsWith\('(sqlite|postgres)/,
]

/** Comments and texts for people name databases, too. */
const isBranch = (line: string): boolean =>
  !/^\s*(\*|\/\/|\/\*)/.test(line) && BRANCH.some((pattern) => pattern.test(line))

function countBranches(): Record<string, number> {
  const counts: Record<string, number> = {}
  const exclude = ['**/*.test.ts', 'platform/storage/**', 'platform/config/**']
  for (const path of globSync('**/*.ts', { cwd: engine, exclude }).sort()) {
    const lines = readFileSync(join(engine, path), 'utf8').split('\n').filter(isBranch)
    if (lines.length > 0) counts[path] = lines.length
  }
  return counts
}

test('a branch on the database outside platform/storage has a reason', () => {
  const listed: Record<string, number> = {}
  for (const files of Object.values(DATABASE_BRANCHES)) {
    for (const [path, count] of Object.entries(files)) listed[path] = (listed[path] ?? 0) + count
  }
  assert.deepEqual(countBranches(), listed)
})
