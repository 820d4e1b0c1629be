/**
 * The words of the rows of a resource: those of its texts, for `q` (§7.12), and those of references
 * inside its values (§15.9). The transaction that changes a row changes its words. `search-fill.ts`
 * indexes existing rows.
 */

import type { RowId } from '../../kernel/row-id.ts'
import { budgetOf } from '../../platform/storage/change-budget.ts'
import type { Statement, Tx } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { runTogether } from '../../platform/storage/together.ts'
import { wordsOf } from '../../protocol/lists/search-words.ts'
import { innerReferencesOf, REFERENCE_MARKS, referenceWords } from './inner-references.ts'
import type { ResourceDefinition } from './resource.ts'
import { DELETED_FIELD, DELETED_WORD } from './soft-deletion.ts'
import type { RowStore } from './store.ts'
import { wordTable } from './table.ts'

/** Increases when `wordsOf` returns other words, so that the start indexes all rows again. */
const WORDS_RELEASE = 2

export interface WordSources {
  /** The fields from which the words follow. */
  readonly fields: readonly string[]
  /** The names of searched fields, then the paths of references. */
  readonly names: readonly string[]
  /** Returns the words of a row. `cellOf` returns the value of a field, or its cell. */
  readonly wordsOf: (cellOf: (field: string) => unknown) => string[]
}

type WordDeclaration = Pick<ResourceDefinition, 'fields' | 'search' | 'softDeletion'>

/** Returns from what the words of a resource follow; without words, no field. */
export function wordSources({ fields, search, softDeletion }: WordDeclaration): WordSources {
  const references = innerReferencesOf(fields)
  const marks = references.length + search.length > 0 && softDeletion ? [DELETED_FIELD] : []
  return {
    fields: [...new Set([...search, ...references.map(({ field }) => field), ...marks])],
    names: [...search, ...references.map(({ path }) => path), ...marks],
    wordsOf(cellOf) {
      const isDeleted = marks.some((mark) => (cellOf(mark) ?? null) !== null)
      const words = wordsOfTexts(search.map(cellOf))
      return [
        ...(isDeleted ? words.map((word) => DELETED_WORD + word) : words),
        ...referenceWords(references, cellOf, isDeleted),
      ]
    },
  }
}

/** Names what the words of a resource follow from, so that other words have another text. */
export const describeWords = (definition: WordDeclaration): string =>
  [...wordSources(definition).names, WORDS_RELEASE].join(' ')

export const hasWords = (definition: WordDeclaration): boolean =>
  definition.search.length > 0 || innerReferencesOf(definition.fields).length > 0

/** Returns the words of the searched fields of a row. */
function wordsOfTexts(texts: readonly unknown[]): string[] {
  const words = new Set<string>()
  for (const text of texts) if (typeof text === 'string') wordsOf(text, words)
  return [...words]
}

/** Entries per statement. Any number of entries is inserted by these few texts. */
const STATEMENT_ENTRIES = [256, 32, 4, 1] as const

/** A row with its words. */
interface SearchedRow {
  readonly scope: number
  readonly id: RowId
  readonly words: readonly string[]
}

export interface SearchIndex {
  /** Adds the words of rows; existing ones stay. */
  add(tx: Tx, ...rows: readonly SearchedRow[]): Promise<void>
  /** Changes the words of a row after its deletion or restoration; returns their number. */
  mark(tx: Tx, scope: number, id: RowId, isDeleted: boolean): Promise<number>
  /** Returns the number of removed words. */
  remove(tx: Tx, scope: number, id: RowId): Promise<number>
}

export function createSearchIndex(definition: Pick<ResourceDefinition, 'name'>): SearchIndex {
  const table = wordTable(definition)
  const removeWords = prepareStatement(`DELETE FROM ${table} WHERE scope = ? AND id = ?`)
  const { stored, deleted } = REFERENCE_MARKS
  const wordsWith = (text: string, reference: string) =>
    prepareStatement(`UPDATE ${table} SET word = CASE
      WHEN substr(word, 1, 1) IN ('${stored}', '${deleted}') THEN '${reference}' || substr(word, 2)
      ELSE '${text}' || ltrim(word, '${DELETED_WORD}') END
      WHERE scope = ? AND id = ?`)
  const markWords = wordsWith(DELETED_WORD, deleted)
  const unmarkWords = wordsWith('', stored)
  const insertions = STATEMENT_ENTRIES.map((count) => {
    const entries = Array(count).fill('(?, ?, ?)').join(', ')
    const text = `INSERT INTO ${table} (scope, id, word) VALUES ${entries} ON CONFLICT DO NOTHING`
    return { count, insert: prepareStatement(text) }
  })
  return {
    async add(tx, ...rows) {
      // In the order of the key, which is that of the rows; the words of a row are few.
      const entries = rows.flatMap(({ scope, id, words }) => words.map((word) => [scope, id, word]))
      const statements: Statement[] = []
      for (let from = 0; from < entries.length; ) {
        const left = entries.length - from
        const { count, insert } = insertions.find((insertion) => insertion.count <= left)!
        statements.push(insert(entries.slice(from, from + count).flat()))
        from += count
      }
      await runTogether(tx, ...statements.map((statement) => () => tx.run(statement)))
    },
    mark: (tx, scope, id, isDeleted) => tx.run((isDeleted ? markWords : unmarkWords)([scope, id])),
    remove: (tx, scope, id) => tx.run(removeWords([scope, id])),
  }
}

/** Returns the store of a resource that also changes the words of its rows. */
export function withSearchIndex(store: RowStore, definition: ResourceDefinition): RowStore {
  const { name } = definition
  const { fields, wordsOf: wordsOfRow } = wordSources(definition)
  if (fields.length === 0) return store
  const index = createSearchIndex(definition)
  const select = prepareStatement(
    `SELECT ${fields.join(', ')} FROM ${name} WHERE scope = ? AND id = ?`,
  )
  const countWords = (field: string) =>
    prepareStatement(`SELECT count(*) FROM (SELECT 1 AS one FROM ${name}
      JOIN ${wordTable(definition)} AS words
        ON words.scope = ${name}.scope AND words.id = ${name}.id
      WHERE ${name}.scope = ? AND ${name}.${field} = ? LIMIT ?) AS counted`)
  const addWords = async (tx: Tx, scope: number, id: RowId, cellOf: (field: string) => unknown) => {
    const words = wordsOfRow(cellOf)
    budgetOf(tx).charge({ words: words.length })
    await index.add(tx, { scope, id, words })
  }
  // A row has at most 1,000 words: counting them first would take a statement more.
  const removeWords = async (tx: Tx, scope: number, id: RowId) =>
    budgetOf(tx).charge({ words: await index.remove(tx, scope, id) })
  return {
    ...store,
    async insert(tx, scope, row) {
      const id = await store.insert(tx, scope, row)
      await addWords(tx, scope, id, (field) => row[field])
      return id
    },
    async update(tx, scope, id, changed) {
      await store.update(tx, scope, id, changed)
      const sources = fields.filter((field) => field in changed)
      if (sources.length === 0) return
      if (sources.every((field) => field === DELETED_FIELD)) {
        const isDeleted = changed[DELETED_FIELD] !== null
        return budgetOf(tx).charge({ words: await index.mark(tx, scope, id, isDeleted) })
      }
      await removeWords(tx, scope, id)
      const [cells] = await tx.arrays(select([scope, id]))
      if (cells) await addWords(tx, scope, id, (field) => cells[fields.indexOf(field)])
    },
    async remove(tx, scope, id) {
      await store.remove(tx, scope, id)
      await removeWords(tx, scope, id)
    },
    async measureReferences(tx, scope, reference) {
      const sizes = await store.measureReferences(tx, scope, reference)
      // Only a cascade removes words, and no reference inside a value cascades.
      if (reference.inner) return sizes
      const limit = Math.max(1, budgetOf(tx).left('words') + 1)
      const statement = countWords(reference.field)
      const [[words] = []] = await tx.arrays(statement([scope, reference.id, limit]))
      return { ...sizes, words: Number(words) }
    },
  }
}
