/**
 * Counts the rows that the statements of a list pass. On SQLite a function in each condition counts
 * the rows for which SQLite evaluates the condition; on PostgreSQL the executed plan has them.
 * Measures no time.
 */
import assert from 'node:assert/strict'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import type { TestApp } from '../../../../test/rig/service.ts'
import type { Reader, Row, Statement, Value } from '../../src/platform/storage/database.ts'
import type { ListSource } from '../../src/protocol/lists/page.ts'

/** The reads of lists, and the statement that has passed most rows since the last `take`. */
interface PassedRows {
  readonly source: ListSource
  /** Returns its rows, and its text and plan for messages. */
  take(): { readonly rows: number; readonly statement: string }
}

/** Reads arrays, and adds the rows and the plan of a statement. */
type CountedRead = (
  statement: Statement,
  add: (rows: number, plan: string) => void,
) => Promise<Value[][]>

function countBy(read: CountedRead): PassedRows {
  const none = { rows: 0, statement: '' }
  let most = none
  const arrays: Reader['arrays'] = (statement) =>
    read(statement, (rows, plan) => {
      if (rows > most.rows) most = { rows, statement: `${statement.sql}\n  ${plan}` }
    })
  // Only totals of counters are read as objects.
  const all = async <R extends Row>(statement: Statement) =>
    (await arrays(statement)).map(([total]) => ({ total }) as Row as R)
  const reader: Reader = {
    arrays,
    all,
    get: async (statement) => (await all(statement))[0] as never,
  }
  return {
    source: {
      ...reader,
      snapshot: (run) => run(reader),
      longRead: (_customer, run) => run(reader),
    },
    take() {
      const taken = most
      most = none
      return taken
    },
  }
}

/** Each condition of rows of a scope; a counter has no id. */
const SCOPED = /\bWHERE (\w+\.)?scope = \?(?! AND collection)/g

function countOnSqlite(t: TestContext, url: string): PassedRows {
  const db = new DatabaseSync(url.replace(/^sqlite:/, ''), { readOnly: true })
  onEnd(t, () => db.close())
  let passed = 0
  // No constant: SQLite calls it for each row of an index, before it reads the row of the table.
  db.function('passed', { varargs: true }, () => {
    passed += 1
    return 1
  })
  const planOf = (text: string, values: readonly SQLInputValue[]) => {
    const steps = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values)
    return steps.map(({ detail }) => detail).join('; ')
  }
  const prepare = (sql: string, values: readonly SQLInputValue[]) => {
    const text = sql.replace(SCOPED, 'WHERE passed($1id) AND $1scope = ?')
    const plan = planOf(sql, values)
    assert.equal(planOf(text, values), plan, `${sql}: the function changes the plan`)
    const query = db.prepare(text)
    query.setReturnArrays(true)
    return { query, plan }
  }
  const statements = new Map<string, ReturnType<typeof prepare>>()
  return countBy(async ({ sql, values }, add) => {
    const cells = values as readonly SQLInputValue[]
    const { query, plan } = statements.get(sql) ?? prepare(sql, cells)
    statements.set(sql, { query, plan })
    passed = 0
    const rows = query.all(...cells) as unknown as Value[][]
    add(passed, plan)
    return rows
  })
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Index Name'?: string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly PlanNode[]
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

/** Returns the rows of a table or an index that a node has read, the discarded ones included. */
function rowsOf(node: PlanNode): number {
  if (!node['Relation Name'] && !node['Index Name']) return 0
  const { 'Rows Removed by Filter': filtered = 0, 'Rows Removed by Index Recheck': other = 0 } =
    node
  return Math.ceil((node['Actual Rows'] + filtered + other) * node['Actual Loops'])
}

const countOnPostgres = ({ app }: TestApp): PassedRows =>
  countBy((statement, add) =>
    app.db.snapshot(
      async (reader) => {
        const text = `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${statement.text}`
        const [row] = await reader.arrays({ ...statement, text, planned: true })
        const [{ Plan }] = row![0] as unknown as [{ readonly Plan: PlanNode }]
        const nodes = nodesOf(Plan)
        const names = nodes.map((node) => `${node['Node Type']} ${node['Index Name'] ?? ''}`)
        const rows = nodes.reduce((sum, node) => sum + rowsOf(node), 0)
        add(rows, names.join('; '))
        return reader.arrays(statement)
      },
      { ordered: true },
    ),
  )

export const countPassedRows = (t: TestContext, service: TestApp): PassedRows =>
  service.app.db.name === 'sqlite' ? countOnSqlite(t, service.url) : countOnPostgres(service)
