/**
 * Fills the rows that a table has already, in batches of one transaction each: with computed
 * columns (`computed-fill.ts`), or with words (`search-fill.ts`). A start fills all rows before it
 * serves, and resumes after the last batch of an interrupted one. `refills.ts` fills rows again,
 * beside requests.
 */
import type { Database, Tx, Value } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'
import { tableExists } from './additions.ts'

type FillPart = 'columns' | 'words'

/** The key of scope and id of a row; undefined: before the first one, or after the last one. */
type FillPosition = readonly Value[] | undefined

interface FilledBatch {
  /** The rows of the batch. */
  readonly count: number
  /** The last row of the batch, if rows may follow. */
  readonly next: FillPosition
}

export interface RowFill {
  readonly resource: string
  readonly part: FillPart
  /** The participle of its progress: `1200 rows computed`. */
  readonly done: string
  /** Fills the next rows. */
  fillBatch(tx: Tx, after: FillPosition): Promise<FilledBatch>
  /** Records in the transaction of the last batch of a refill that all rows are filled. */
  complete?(tx: Tx): Promise<unknown>
}

/** Rows between two lines of progress. */
const PROGRESS_ROWS = 100_000
/** The stored position before the first row. */
const FIRST = ''

/** Lets the start fill all rows, from the first one. */
export const requestFill = (tx: Tx, resource: string, part: FillPart): Promise<unknown> =>
  tx.run(sql`INSERT INTO gh_fills (resource, part, last_key) VALUES (${resource}, ${part}, ${FIRST})
    ON CONFLICT (resource, part) DO UPDATE SET last_key = ${FIRST}`)

/** Returns the names of resources whose rows a start has to fill. */
export async function listPendingFills(db: Database, part: FillPart): Promise<Set<string>> {
  if (!(await tableExists(db, 'gh_fills'))) return new Set()
  const rows = await db.arrays(sql`SELECT resource FROM gh_fills WHERE part = ${part}`)
  return new Set(rows.map(([name]) => String(name)))
}

/** Fills the rows of a requested fill. Returns how many this process has filled. */
export async function fillRequested(
  db: Database,
  fill: RowFill,
  progress: (line: string) => void,
): Promise<number> {
  const { resource, done } = fill
  let rows = 0
  for (;;) {
    const count = await db.write((tx) => fillAfterLast(tx, fill))
    if (count === undefined) return rows
    rows += count
    if (rows % PROGRESS_ROWS < count) progress(`table ${resource}: ${rows} rows ${done}`)
  }
}

/** Fills the rows after the last batch. Returns undefined if all rows are filled. */
async function fillAfterLast(tx: Tx, fill: RowFill): Promise<number | undefined> {
  const isOwn = sql`resource = ${fill.resource} AND part = ${fill.part}`
  // The lock lets one node at a time fill rows.
  const state = await tx.lock<{ last_key: string }>(
    sql`SELECT last_key FROM gh_fills WHERE ${isOwn}`,
  )
  if (!state) return undefined
  const after = state.last_key === FIRST ? undefined : (JSON.parse(state.last_key) as Value[])
  const { count, next } = await fill.fillBatch(tx, after)
  await tx.run(
    next
      ? sql`UPDATE gh_fills SET last_key = ${JSON.stringify(next)} WHERE ${isOwn}`
      : sql`DELETE FROM gh_fills WHERE ${isOwn}`,
  )
  return count
}
