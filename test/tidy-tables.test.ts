/**
 * Only the module of a table names it: its owner exports what others read of it.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

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

/** Returns the tables of other modules that each module names, by module. */
function listForeignTables(): Record<string, string[]> {
  const foreign: Record<string, Set<string>> = {}
  const files = globSync('**/*.ts', { cwd: engine, exclude: ['**/*.test.ts', '*/*/tables.ts'] })
  for (const path of files) {
    const parts = path.split('/')
    const module = parts.length > 2 ? parts.slice(0, 2).join('/') : parts[0]!
    for (const [table] of read(path).matchAll(NAME)) {
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
  assert.deepEqual(listForeignTables(), {})
})
