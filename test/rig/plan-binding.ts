/**
 * Decides by PostgreSQL's plan whether a statement reads the rows of one scope: each read of a
 * table that is distributed by scope has a condition with `scope`, and an index for it.
 */
import pg from 'pg'

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly Plans?: readonly PlanNode[]
  readonly [member: string]: unknown
}

const PARTITIONS = `SELECT c.relname AS name, p.relname AS parent FROM pg_inherits i
  JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent`

/** Few rows make a scan cheap, so it is chosen only if nothing else is possible. */
const SETTINGS = ['enable_seqscan', 'enable_mergejoin', 'enable_hashjoin']
  .map((name) => `SET ${name} = off`)
  .join('; ')

/**
 * Returns a line for each read without a condition on the scope, or without an index; and for each
 * that does not find an id by an index. The tables are young: PostgreSQL knows no statistics.
 *
 * @param roots - tables whose rows a statement may find without their scope
 */
export async function findUnboundScans(
  { url, texts }: { readonly url: string; readonly texts: readonly string[] },
  scoped: ReadonlySet<string>,
  roots: readonly string[],
): Promise<string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(SETTINGS)
    const { rows } = await client.query(PARTITIONS)
    const parents = new Map<string, string>(rows.map(({ name, parent }) => [name, parent]))
    const lines: string[] = []
    for (const text of texts.filter((text) =>
      /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/.test(text),
    )) {
      const { rows } = await client.query(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`)
      visit(rows[0]['QUERY PLAN'][0].Plan, '', (node, { conditions, seek }) => {
        const relation = String(node['Relation Name'])
        const table = parents.get(relation) ?? relation
        if (!scoped.has(table)) return
        const isBound = roots.includes(table) || /\bscope\b/.test(conditions)
        const hasIndex = seek !== ''
        // An index that begins with the scope alone: it reads all rows of the scope for one.
        // A hashed list excludes rows, and finds none.
        const isFiltered =
          /(?<!ANY \()\b(event_)?id = /.test(String(node.Filter ?? '')) &&
          !/\b(event_)?id [=<>]/.test(seek)
        if (!isBound || !hasIndex || isFiltered)
          lines.push(`${node['Node Type']} of ${table}: ${text}`)
      })
    }
    return lines
  } finally {
    await client.end()
  }
}

/** `seek`: the conditions by which an index finds the rows. */
type Examine = (node: PlanNode, read: { conditions: string; seek: string }) => void

/** Visits the reads of tables with their conditions, and with those of joins around them. */
function visit(node: PlanNode, outer: string, examine: Examine): void {
  const own = Object.entries(node).filter(([name]) => /(Cond|Filter)$/.test(name))
  const conditions = [outer, ...own.map(([, text]) => String(text))].join(' ')
  const inner = node.Plans ?? []
  // A bitmap has the condition of the index; a change finds its rows by the plan below it.
  const seek = [node, ...inner]
    .map((plan) => plan['Index Cond'] ?? '')
    .join(' ')
    .trim()
  const isRead = node['Relation Name'] !== undefined && node['Node Type'] !== 'ModifyTable'
  if (isRead) examine(node, { conditions: `${conditions} ${seek}`, seek })
  for (const plan of inner) visit(plan, conditions, examine)
}
