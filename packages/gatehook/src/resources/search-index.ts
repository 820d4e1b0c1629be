/**
 * The words of the rows of a resource, for `q` (§7.12). The transaction that changes a row changes
 * its words. `search-fill.ts` indexes existing rows.
 */

import type { RowId } from '../kernel/row-id.ts'
import { ROW_WORDS_MAX, wordsOf } from '../lists/search-words.ts'
import type { Tx, Value } from '../storage/database.ts'
import { prepareStatement } from '../storage/sql.ts'
import type { ResourceDefinition } from './resource.ts'
import type { RowStore } from './store.ts'
import { wordTable } from './table.ts'

/** Increases when `wordsOf` returns other words, so that the start indexes all rows again. */
export const WORDS_RELEASE = 1

/** Returns the words of a row from the cells of its searched fields. */
function wordsOfCells(cells: readonly Value[]): string[] {
  const words = new Set<string>()
  for (const cell of cells) {
    if (typeof cell !== 'string') continue
    for (const word of wordsOf(cell)) words.add(word)
  }
  return [...words].slice(0, ROW_WORDS_MAX)
}

/** Entries per statement. Any number of entries is inserted by these few texts. */
const STATEMENT_ENTRIES = [1024, 64, 8, 1] as const

/** A row with the cells of its searched fields. */
interface SearchedRow {
  readonly scope: number
  readonly id: RowId
  readonly cells: readonly Value[]
}

export interface SearchIndex {
  /** Adds the words of rows; existing ones stay. */
  add(tx: Tx, ...rows: readonly SearchedRow[]): Promise<void>
  remove(tx: Tx, scope: number, id: RowId): Promise<void>
}

export function createSearchIndex(definition: Pick<ResourceDefinition, 'name'>): SearchIndex {
  const table = wordTable(definition)
  const removeWords = prepareStatement(`DELETE FROM ${table} WHERE scope = ? AND id = ?`)
  const insertions = STATEMENT_ENTRIES.map((count) => {
    const entries = Array(count).fill('(?, ?, ?)').join(', ')
    const text = `INSERT INTO ${table} (scope, id, word) VALUES ${entries} ON CONFLICT DO NOTHING`
    return { count, insert: prepareStatement(text) }
  })
  return {
    async add(tx, ...rows) {
      // In the order of the key, which is that of the rows; the words of a row are few.
      const entries = rows.flatMap(({ scope, id, cells }) =>
        wordsOfCells(cells).map((word) => [scope, id, word]),
      )
      for (let from = 0; from < entries.length; ) {
        const left = entries.length - from
        const { count, insert } = insertions.find((insertion) => insertion.count <= left)!
        await tx.run(insert(entries.slice(from, from + count).flat()))
        from += count
      }
    },
    async remove(tx, scope, id) {
      await tx.run(removeWords([scope, id]))
    },
  }
}

/** Returns the store of a resource that also changes the words of its rows. */
export function withSearchIndex(store: RowStore, definition: ResourceDefinition): RowStore {
  const { name, search } = definition
  if (search.length === 0) return store
  const index = createSearchIndex(definition)
  const select = prepareStatement(
    `SELECT ${search.join(', ')} FROM ${name} WHERE scope = ? AND id = ?`,
  )
  const addWords = async (tx: Tx, scope: number, id: RowId) => {
    const [cells] = await tx.arrays(select([scope, id]))
    if (cells) await index.add(tx, { scope, id, cells })
  }
  return {
    ...store,
    async insert(tx, scope, row) {
      const id = await store.insert(tx, scope, row)
      const cells = search.map((field) => (row[field] ?? null) as Value)
      await index.add(tx, { scope, id, cells })
      return id
    },
    async update(tx, scope, id, changed) {
      await store.update(tx, scope, id, changed)
      if (!search.some((field) => field in changed)) return
      await index.remove(tx, scope, id)
      await addWords(tx, scope, id)
    },
    async remove(tx, scope, id) {
      await store.remove(tx, scope, id)
      await index.remove(tx, scope, id)
    },
  }
}
