/** Compares the stored totals of collections (`counters.ts`) with their rows. */
import type { OnPart } from '../../kernel/pace.ts'
import type { Database } from '../../platform/storage/database.ts'
import { createKeyPages } from '../../platform/storage/key-pages.ts'
import { sql } from '../../platform/storage/sql.ts'

export interface CountedCollection {
  /** Of the collection and of its table, which has a unique index of scope and id. */
  readonly name: string
  /** A column that is null in the rows that count; undefined: all rows count. */
  readonly deletedColumn: string | undefined
}

export interface WrongTotal {
  readonly collection: string
  readonly scope: number
  readonly total: number
  readonly rows: number
}

const PAGE_ROWS = 2_000

/** Returns the rows of a collection by scope, and the totals that are different. */
export function checkCounters(
  db: Database,
  { name, deletedColumn }: CountedCollection,
  onPart: OnPart,
): Promise<{ readonly rows: number; readonly wrong: readonly WrongTotal[] }> {
  const columns = ['scope', 'id', ...(deletedColumn === undefined ? [] : [deletedColumn])]
  const readPage = createKeyPages(`SELECT ${columns.join(', ')} FROM "${name}"`, ['scope', 'id'])
  // One snapshot: the service may change rows and totals meanwhile.
  return db.snapshot(
    async (reader) => {
      const stored = await reader.all(sql`SELECT scope, SUM(total) AS total FROM gh_counters
        WHERE collection = ${name} GROUP BY scope`)
      const totals = new Map(stored.map(({ scope, total }) => [Number(scope), Number(total)]))
      const all = [...totals.values()].reduce((sum, total) => sum + total, 0)
      const rows = new Map<number, number>()
      let done = 0
      for (let after: Parameters<typeof readPage>[1]; ; ) {
        const page = await readPage(reader, after, PAGE_ROWS)
        for (const [scope, , deletedAt] of page) {
          if (deletedColumn === undefined || deletedAt === null) {
            rows.set(Number(scope), (rows.get(Number(scope)) ?? 0) + 1)
          }
        }
        done += page.length
        await onPart(done, Math.max(all, done))
        if (page.length < PAGE_ROWS) break
        after = page.at(-1)!.slice(0, 2)
      }
      const scopes = new Set([...totals.keys(), ...rows.keys()])
      const wrong = [...scopes].map((scope) => ({
        collection: name,
        scope,
        total: totals.get(scope) ?? 0,
        rows: rows.get(scope) ?? 0,
      }))
      return { rows: done, wrong: wrong.filter((place) => place.total !== place.rows) }
    },
    { ordered: true },
  )
}
