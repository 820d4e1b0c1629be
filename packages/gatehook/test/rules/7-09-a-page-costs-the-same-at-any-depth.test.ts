/**
 * §7.9: a page sorted by one column and the id, with or without an owner, consists of index seeks
 * at any depth, even if all rows tie. The tests examine plans and measure no time.
 */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { api } from '../../service/service.ts'
import type { ResourceDefinition } from '../../src/declare/resources/resource.ts'
import { resourceCollection } from '../../src/declare/resources/table.ts'
import type { Statement } from '../../src/platform/storage/database.ts'
import type { Key } from '../../src/protocol/lists/cursor.ts'
import { pageStatement } from '../../src/protocol/lists/page-query.ts'
import type { Walk } from '../../src/protocol/lists/walk.ts'
import { fill, fillUsers, testScope } from '../lists/rows.ts'

const PAGE = 21
/**
 * Rows that a plan may read, of the 100,000 rows of the table. PostgreSQL may scan an index and
 * filter rows when its statistics predict few of them.
 */
const READ_MAX = 50 * PAGE
const OWNER = 7

/** Values from the middle of each column; all rows tie in `created_at` and `currency`. */
const middle: Readonly<Record<string, Key>> = {
  ...{ id: 50_000, user_id: 50, status: 'paid', amount: 500, note: 'n500', name: 'n50000' },
  ...{ email: 'e50000@x.io', created_at: 1000, updated_at: 50_000 },
}

function* walks(definition: ResourceDefinition, scope: number) {
  const collection = resourceCollection(definition)
  const owners = collection.owner ? [undefined, OWNER] : [undefined]
  for (const owner of owners) {
    // Lists of a person sort in memory, except by id.
    for (const column of owner === undefined ? collection.sort : ['id']) {
      const nullable = collection.columns.find(({ name }) => name === column)!.nullable
      const value = middle[column]!
      const values = nullable ? [undefined, value, null] : [undefined, value]
      for (const [descending, idDescends] of [
        [false, false],
        [true, true],
        [false, true],
        [true, false],
      ] as const) {
        if (column === 'id' && descending !== idDescends) continue
        const id = { column: 'id', descending: idDescends }
        const sort = column === 'id' ? [id] : [{ column, descending }, id]
        for (const value of values) {
          const keys = column === 'id' ? [middle.id!] : [value ?? null, middle.id!]
          const anchor = value === undefined ? undefined : keys
          const fixed = {
            collection,
            scope,
            owner,
            filters: [],
            terms: [],
            inclusive: false,
            skip: 0,
          }
          for (const backward of [false, true]) {
            const walk: Walk = { ...fixed, sort, anchor, backward, limit: PAGE }
            const mixed = descending !== idDescends
            const name = JSON.stringify({ owner, sort, anchor, backward })
            yield { walk, name, column, mixed }
          }
        }
      }
    }
  }
}

async function fillTables({ app }: TestApp, count: number): Promise<number> {
  await fillUsers(app.db, count, '1000')
  await fill(app.db, 'orders', count, {
    user_id: 'n % 100 + 1',
    status: "CASE n % 5 WHEN 0 THEN 'paid' ELSE 'pending' END",
    amount: 'n % 1000 + 1',
    currency: "'EUR'",
    note: "CASE WHEN n % 3 = 0 THEN 'n' || n % 1000 END",
    created_at: '1000',
    updated_at: 'n',
  })
  return testScope(app.db)
}

async function onSqlite(service: TestApp): Promise<void> {
  const scope = await fillTables(service, 300)
  for (const definition of api.definition.resources) {
    for (const { walk, name, column, mixed } of walks(definition, scope)) {
      const statement = pageStatement(walk)
      const explained = { ...statement, sql: `EXPLAIN QUERY PLAN ${statement.sql}` }
      const lines = (await service.app.db.all(explained)).map((line) =>
        // SQLite calls the id, with which its index entries end, by this name.
        (line.detail as string).replaceAll('rowid', 'id'),
      )
      const reads = lines.filter((line) => / USING .*INDEX /.test(line))
      const leads = walk.owner === undefined ? 'scope=\\?' : 'scope=\\? AND user_id=\\?'
      for (const line of reads) {
        const index = new RegExp(`\\(${leads}( AND ${column}[=<>]|\\)| AND id[<>])`)
        assert.match(line, index, `${name}\n${lines.join('\n')}`)
        const serves = column === 'id' ? /./ : new RegExp(`_by_(\\w+_)?${column} `)
        assert.match(line, serves, `${name}\n${lines.join('\n')}`)
      }
      const isSeek = (line: string) => line.startsWith('SEARCH ')
      assert.ok(lines.some(isSeek), `${name}\n${lines.join('\n')}`)
      const scans = lines.filter((line) => /^SCAN (users|orders)/.test(line))
      assert.deepEqual(scans, [], name)
      // Orders against the index sort the rows of the page only.
      const sorted = lines.filter((line) => line.includes('TEMP B-TREE'))
      assert.ok(sorted.length <= (mixed ? 1 : 0), `${name}\n${lines.join('\n')}`)
    }
  }
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Relation Name'?: string
  readonly Plans?: readonly PlanNode[]
}

const nodes = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodes)]

/** Returns the generic plan of a prepared statement (`generic`), or the plan for its values. */
async function explained({ app }: TestApp, statement: Statement, mode: string) {
  const literal = (value: unknown) => (typeof value === 'string' ? `'${value}'` : String(value))
  const say = (text: string): Statement => ({ sql: text, text, values: [] })
  return app.db.write(async (tx) => {
    await tx.run(say(`SET LOCAL plan_cache_mode = force_${mode}_plan`))
    await tx.run(say(`PREPARE page AS ${statement.text}`))
    const values = statement.values.map(literal).join(', ')
    const row = await tx.get(
      say(`EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE page (${values})`),
    )
    await tx.run(say('DEALLOCATE page'))
    return nodes(row!['QUERY PLAN'][0].Plan as PlanNode)
  })
}

async function onPostgres(service: TestApp): Promise<void> {
  const scope = await fillTables(service, 100_000)
  await service.app.db.migrate(async (_, ddl) => {
    for (const { name } of api.definition.resources) await ddl(`ANALYZE ${name}`)
  })
  const emptyScope = scope + 2 // a scope without rows
  for (const definition of api.definition.resources) {
    const all = [...walks(definition, scope), ...walks(definition, emptyScope)]
    for (const { walk, name, mixed } of all) {
      for (const mode of ['custom', 'generic']) {
        const plan = await explained(service, pageStatement(walk), mode)
        const description = `${name} ${mode}, scope ${walk.scope}`
        for (const node of plan) {
          assert.notEqual(node['Node Type'], 'Seq Scan', description)
          if (!mixed) assert.doesNotMatch(node['Node Type'], /Sort/, description)
          const passed = node['Rows Removed by Filter'] ?? 0
          const rows = (node['Actual Rows'] + passed) * node['Actual Loops']
          assert.ok(rows <= READ_MAX, `${node['Node Type']} read ${rows} rows: ${description}`)
        }
      }
    }
  }
}

eachService('every declared sort is a seek', async (service) => {
  await (service.app.db.name === 'sqlite' ? onSqlite(service) : onPostgres(service))
})
