/** Purges rows that soft deletion has marked, after the declared time. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../kernel/clock.ts'
import type { RowId } from '../../kernel/row-id.ts'
import { CHANGE_BOUNDS } from '../../platform/storage/change-budget.ts'
import type { Database } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { ROW_WORDS_MAX } from '../../protocol/lists/search-words.ts'
import { innerReferencesOf, referencePrefix } from './inner-references.ts'
import { orderByReference } from './reference-order.ts'
import type { ResourceDefinition } from './resource.ts'
import { createSearchIndex, hasWords } from './search-index.ts'
import type { ServiceDefinition } from './service.ts'
import { DELETED_FIELD } from './soft-deletion.ts'
import { wordTable } from './table.ts'

/** Rows that one statement examines, and those that one transaction deletes. */
const EXAMINED_ROWS = 500
const BATCH_ROWS = 500
/** Rows with words of one transaction: with most words, they are those of the largest change. */
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
      return softDeletion ? [{ softDeletion, purge: purgeOf(db, definition, resources) }] : []
    })
  return async () => {
    let total = 0
    for (const { softDeletion, purge } of purges) {
      total += await purge(clock.now() - softDeletion.purgeAfterMs)
    }
    return total
  }
}

type MarkedCells = readonly [deletedAt: number, scope: number, id: RowId, isFree: number]

/**
 * Returns the function that purges the rows of a resource, with their words, which were deleted
 * before an instant. It passes each row once, also those that stay because of others.
 */
function purgeOf(
  db: Database,
  definition: ResourceDefinition,
  resources: readonly ResourceDefinition[],
): (before: number) => Promise<number> {
  const { name, fields } = definition
  const isFree = conditionOfFree(definition, resources)
  const examine = prepareStatement(`SELECT ${DELETED_FIELD}, scope, id,
      CASE WHEN ${isFree} THEN 1 ELSE 0 END
    FROM ${name} AS marked WHERE ${DELETED_FIELD} IS NOT NULL AND ${DELETED_FIELD} < ?
      AND (${DELETED_FIELD}, scope, id) > (?, ?, ?)
    ORDER BY ${DELETED_FIELD}, scope, id LIMIT ${EXAMINED_ROWS}`)
  const remove = prepareStatement(`DELETE FROM ${name} AS marked
    WHERE scope = ? AND id = ? AND ${DELETED_FIELD} < ? AND ${isFree}`)
  const index = hasWords(definition) ? createSearchIndex(definition) : undefined
  const batchRows = index ? SEARCHED_BATCH_ROWS : BATCH_ROWS
  const removeRows = (rows: readonly MarkedCells[], before: number) =>
    db.write(async (tx) => {
      const counts = await Promise.all(
        rows.map(async ([, scope, id]) => {
          const count = await tx.run(remove([scope, id, before]))
          if (count > 0) await index?.remove(tx, scope, id)
          return count
        }),
      )
      return counts.reduce((sum, count) => sum + count, 0)
    })
  return async (before) => {
    let total = 0
    let after: readonly [number, number, RowId] = [0, 0, fields.id!.idPrefix === undefined ? 0 : '']
    for (;;) {
      const rows = (await db.arrays(
        examine([before, ...after]),
      )) as unknown as readonly MarkedCells[]
      const free = rows.filter((row) => row[3] === 1)
      for (let from = 0; from < free.length; from += batchRows) {
        total += await removeRows(free.slice(from, from + batchRows), before)
      }
      const last = rows.at(-1)
      if (!last || rows.length < EXAMINED_ROWS) return total
      after = [last[0], last[1], last[2]]
      await nextTurn()
    }
  }
}

/** SQL: whether no other row refers to the row `marked`. */
function conditionOfFree(
  { name }: ResourceDefinition,
  resources: readonly ResourceDefinition[],
): string {
  const isReferred = resources.flatMap((other) => {
    const fields = Object.entries(other.fields).filter(([, { target }]) => target === name)
    const inner = innerReferencesOf(other.fields).filter(({ spec }) => spec.target === name)
    const isOther = other.name === name ? ' AND referrer.id <> marked.id' : ''
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
        `NOT EXISTS (SELECT 1 FROM ${table} AS referrer
          WHERE referrer.scope = marked.scope AND ${condition}${isOther})`,
    )
  })
  return isReferred.length > 0 ? isReferred.join(' AND ') : 'TRUE'
}
