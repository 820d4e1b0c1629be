/** Purges rows that soft deletion has marked, after the declared time. */
import type { Clock } from '../../kernel/clock.ts'
import type { RowId } from '../../kernel/row-id.ts'
import { CHANGE_BOUNDS } from '../../platform/storage/change-budget.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { type PreparedStatement, prepareStatement } from '../../platform/storage/sql.ts'
import { ROW_WORDS_MAX } from '../../protocol/lists/search-words.ts'
import { innerReferencesOf, referencePrefix } from './inner-references.ts'
import { orderByReference } from './reference-order.ts'
import type { ResourceDefinition } from './resource.ts'
import { createSearchIndex, hasWords } from './search-index.ts'
import type { ServiceDefinition } from './service.ts'
import { DELETED_FIELD } from './soft-deletion.ts'
import { wordTable } from './table.ts'

/** Rows that one statement deletes. */
const BATCH_ROWS = 500
/** Rows with words of one statement: with most words, they are those of the largest change. */
const SEARCHED_BATCH_ROWS = Math.floor(CHANGE_BOUNDS.words / ROW_WORDS_MAX)

/**
 * Returns a function that purges the rows of every resource, and returns their number. A row to
 * which another still refers, also a deleted one, is purged after it.
 */
export function createRowPurge(
  { resources }: ServiceDefinition,
  { db, clock }: { readonly db: Database; readonly clock: Clock },
): () => Promise<number> {
  const purges = orderByReference(resources)
    .reverse() // referring rows first
    .flatMap((definition) => {
      const { softDeletion } = definition
      const batchRows = hasWords(definition) ? SEARCHED_BATCH_ROWS : BATCH_ROWS
      const purge = purgeOf(definition, resources, batchRows)
      return softDeletion ? [{ softDeletion, purge, batchRows }] : []
    })
  return async () => {
    let total = 0
    for (const { softDeletion, purge, batchRows } of purges) {
      const before = clock.now() - softDeletion.purgeAfterMs
      for (;;) {
        const count = await db.write((tx) => purge(tx, before))
        total += count
        if (count < batchRows) break
      }
    }
    return total
  }
}

/** Returns the function that purges a batch of rows with their words. */
function purgeOf(
  definition: ResourceDefinition,
  resources: readonly ResourceDefinition[],
  batchRows: number,
) {
  const remove = removalOf(definition, resources)
  const index = hasWords(definition) ? createSearchIndex(definition) : undefined
  return async (tx: Tx, before: number): Promise<number> => {
    const rows = await tx.arrays(remove([before, batchRows]))
    for (const [scope, id] of rows) await index?.remove(tx, Number(scope), id as RowId)
    return rows.length
  }
}

function removalOf(
  { name }: ResourceDefinition,
  resources: readonly ResourceDefinition[],
): PreparedStatement {
  const isReferred = resources.flatMap((other) => {
    const fields = Object.entries(other.fields).filter(([, { target }]) => target === name)
    const inner = innerReferencesOf(other.fields).filter(({ spec }) => spec.target === name)
    const conditions = [
      ...fields.map(([field]) => [other.name, `referrer.${field} = marked.id`]),
      ...inner.map(({ path }) => [
        wordTable(other),
        `referrer.word IN ('${referencePrefix(path, false)}' || marked.id,
          '${referencePrefix(path, true)}' || marked.id)`,
      ]),
    ]
    return conditions.map(
      ([table, condition]) =>
        `AND NOT EXISTS (SELECT 1 FROM ${table} AS referrer
          WHERE referrer.scope = marked.scope AND ${condition})`,
    )
  })
  return prepareStatement(`DELETE FROM ${name} WHERE (scope, id) IN (
    SELECT scope, id FROM ${name} AS marked
    WHERE ${DELETED_FIELD} IS NOT NULL AND ${DELETED_FIELD} < ? ${isReferred.join(' ')}
    ORDER BY ${DELETED_FIELD} LIMIT ?) RETURNING scope, id`)
}
