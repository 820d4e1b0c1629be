/** §15.4: `gatehook check` refuses the tables that `sql` names, and lists `unscopedSql`. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { readSqlUses } from '../../src/declare/gate/sql-sources.ts'
import { gatehook } from '../cli/command.ts'

const SERVICE = `import { f, resource, service, sql, table } from 'gatehook'
import { total } from './reports/total.ts'

export const shops = resource('shops', {
  fields: { id: f.id(), name: f.string() },
  list: { filter: [], sort: [] },
  access: { read: 'shops:read', create: 'shops:write', update: false, delete: false },
  events: [],
})
export const condition = sql\`AND name <> \${'FROM shops'}\`
export const api = service({
  name: 'Shops',
  versions: { v1: { released: '2026-01-01' } },
  resources: [shops],
})
  .route({
    method: 'GET',
    path: '/names',
    scope: 'shops:read',
    summary: 'Names',
    handle: async ({ read }) => ({
      body: await read.sql.all(sql\`SELECT name FROM \${table(shops)} WHERE id > \${1}\`),
    }),
  })
  .route({ method: 'GET', path: '/total', scope: 'shops:read', summary: 'Total', handle: total })
`
const TOTAL = `import { sql, type ServiceReader, unscopedSql as everywhere } from 'gatehook'

export const total = async ({ read }: { read: ServiceReader }) => ({
  body: [
    await read.sql.all(everywhere\`SELECT count(*) AS n FROM shops\`),
    await read.sql.all(sql\`SELECT count(*) AS n
      FROM shops\`),
  ],
})
`

test('check names the file and the line of each statement', async (t) => {
  const folder = emptyFolder(t)
  mkdirSync(join(folder, 'reports'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'service.ts'), SERVICE)
  writeFileSync(join(folder, 'reports/total.ts'), TOTAL)
  await gatehook({ cwd: folder }, 'check', '--update')
  const { exit, stdout } = await gatehook({ cwd: folder }, 'check')
  assert.equal(exit, 1)
  assert.match(
    stdout,
    /reports\/total\.ts:7: sql: shops is no table of sql: write \$\{table\(shops\)\}/,
  )
  assert.match(stdout, /unscopedSql[^\n]*\n {2}reports\/total\.ts:5$/m)
  const { sql, ok } = JSON.parse((await gatehook({ cwd: folder }, 'check', '--json')).stdout)
  assert.deepEqual([ok, sql.mistakes.length, sql.unscoped], [false, 1, ['reports/total.ts:5']])
  writeFileSync(
    join(folder, 'reports/total.ts'),
    TOTAL.replace(/ {4}await[^`]*sql`[^`]*`\),\n(?= {2}\])/, ''),
  )
  assert.equal((await gatehook({ cwd: folder }, 'check')).exit, 0)
})

test('no form of an import hides a statement', () => {
  const cases: [source: string, mistakes: number[], unscoped: number[]][] = [
    ["import * as g from 'gatehook'\ng.unscopedSql`SELECT 1`", [], [2]],
    ["import * as g from 'gatehook'\ng.sql`SELECT * FROM users`", [2], []],
    [`import * as g from 'gatehook'\ng.sql\`SELECT a FROM \${g.table(x)}, \${g.f}\``, [], []],
    ["import * as g from 'gatehook'\ng['unscoped' + 'Sql']`SELECT 1`", [], [2]],
    ["import * as g from 'gatehook'\nconst { unscopedSql: u } = g", [], [2, 2]],
    ["import * as g from 'gatehook'\nconst h = g", [], [2]],
    ["export { unscopedSql as all } from 'gatehook'", [], [1]],
    ["export * from 'gatehook'", [], [1]],
    ["export * as g from 'gatehook'", [], [1]],
    ["const g = await import('gatehook')", [], [1]],
    ["const g = require('gatehook')", [], [1]],
    ["import { unscopedSql as all } from './all.ts'", [], [1]],
    ["import { 'unscopedSql' as all } from 'gatehook'\nall`SELECT 1`", [], [2]],
    ["import { unscopedSql as a, unscopedSql as b } from 'gatehook'\na``\nb``", [], [2, 3]],
    ["import { sql as s } from 'gatehook'\ns`SELECT * FROM users`", [2], []],
    ["import 'x'\nimport { unscopedSql } from 'gatehook'", [], []],
    ["import { resource } from 'gatehook'\nexport const a = [unscopedSql]", [], [2]],
  ]
  for (const [source, mistakes, unscoped] of cases) {
    const uses = readSqlUses(source)
    const lines = [uses.mistakes.map(({ line }) => line), uses.unscoped.map(({ line }) => line)]
    assert.deepEqual(lines, [mistakes, unscoped], source)
  }
})

test('templates are read as JavaScript has them', () => {
  const linesOf = (source: string) => {
    const { mistakes, unscoped } = readSqlUses(
      `import { sql, table, unscopedSql } from 'gatehook'\n${source}`,
    )
    return [mistakes.map(({ line }) => line), unscoped.map(({ line }) => line)]
  }
  const cases: [source: string, mistakes: number[], unscoped: number[]][] = [
    ['sql`SELECT 1`', [], []],
    ['sql`SELECT * FROM users`', [2], []],
    ['sql`SELECT a\n\nFROM users`', [4], []],
    [`sql\`SELECT a FROM \${table(x, { as: \`\${y}\` })} JOIN users\``, [2], []],
    [`sql\`SELECT a FROM \${any}, \${table(x)}\``, [], []],
    [`sql\`SELECT a FROM \${sql\`(SELECT b FROM users)\`}\``, [2], []],
    ['sql`AND a IN (SELECT b FROM users)`', [2], []],
    ['"sql`FROM users`" // sql`FROM users`', [], []],
    ['read.sql`FROM users`', [], []],
    ['read.sql.all<{ n: number }>(sql`SELECT n FROM users`)', [2], []],
    ['const all = unscopedSql\nread(unscopedSql`SELECT * FROM users`)', [], [2, 3]],
    ['sql(["SELECT 1"])', [], []],
    ['sql`SELECT a\\nFROM users`', [2], []],
    [`sql\`SELECT a\\nFROM \${table(x)} WHERE a LIKE '\\\\'\``, [], []],
    ['sql`SELECT', [], []],
  ]
  for (const [source, mistakes, unscoped] of cases) {
    assert.deepEqual(linesOf(source), [mistakes, unscoped], source)
  }
  const foreign = "import { sql } from 'slonik'\nsql`SELECT * FROM users`"
  assert.deepEqual(readSqlUses(foreign).mistakes, [])
})
