/**
 * Only the module of a table names it: its owner exports what others read of it. No statement of
 * another module names it; `FOREIGN_TABLES` lists other mentions, and only shrinks.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { FOREIGN_TABLES } from './tidy-exceptions.ts'

const engine = join(import.meta.dirname, '../packages/gatehook/src')
const read = (path: string): string => readFileSync(join(engine, path), 'utf8')

/** The module of each table: the folder of the `tables.ts` that declares it. */
const owners = new Map(
  globSync('*/*/tables.ts', { cwd: engine }).flatMap((path) =>
    [...read(path).matchAll(/^ {2}name: '(gh_\w+)'/gm)].map(
      ([, table]) => [table!, dirname(path)] as const,
    ),
  ),
)

const NAME = /\bgh_\w+/g
const IN_SQL = /\b(?:FROM|JOIN|INTO|UPDATE|TABLE)\s+gh_\w+/g

/** Returns the tables of other modules that each module names by a pattern, by module. */
function listForeignTables(pattern: RegExp): Record<string, string[]> {
  const foreign: Record<string, Set<string>> = {}
  const files = globSync('**/*.ts', { cwd: engine, exclude: ['**/*.test.ts', '*/*/tables.ts'] })
  for (const path of files) {
    const parts = path.split('/')
    const module = parts.length > 2 ? parts.slice(0, 2).join('/') : parts[0]!
    for (const [text] of read(path).matchAll(pattern)) {
      const table = /gh_\w+/.exec(text)![0]
      const owner = owners.get(table)
      if (owner === undefined || owner === module) continue
      foreign[module] ??= new Set()
      foreign[module].add(table)
    }
  }
  return Object.fromEntries(Object.entries(foreign).map(([key, set]) => [key, [...set].sort()]))
}

test('only the module of a table names it', () => {
  assert.ok(owners.size > 50, `${owners.size} tables`)
  assert.deepEqual(listForeignTables(IN_SQL), {}, 'in a statement')
  assert.deepEqual(listForeignTables(NAME), FOREIGN_TABLES)
})
