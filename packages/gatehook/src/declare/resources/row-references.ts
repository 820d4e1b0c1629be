/** SQL of the rows that refer to a row, for its deletion (`row-deletion.ts`). */
import type { RowId } from '../../kernel/row-id.ts'
import { budgetOf, type ChangeCost } from '../../platform/storage/change-budget.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { createStatementCache } from '../../platform/storage/sql.ts'
import { columnType } from './column-types.ts'
import { tableFields } from './computed.ts'
import type { ResourceDefinition } from './resource.ts'
import { DELETED_FIELD } from './soft-deletion.ts'

/** The rows whose `field` refers to `id`: those that are marked as deleted, or the others. */
export interface RowReference {
  readonly field: string
  readonly id: RowId
  readonly isDeleted: boolean
}

type ReferenceSizes = Required<ChangeCost>

export interface RowReferences {
  /**
   * Returns the number of rows that refer to a row, with their words and the bytes of their texts,
   * and reads none of them. It counts one row, or word, more than the budget has left at most.
   */
  measureReferences(tx: Tx, scope: number, reference: RowReference): Promise<ReferenceSizes>
  /** Returns the lowest id above `after`, or of all, among the rows that refer to a row. */
  findReferenceTo(
    reader: Reader,
    scope: number,
    reference: RowReference,
    after?: RowId,
  ): Promise<RowId | undefined>
}

export function createRowReferences(definition: ResourceDefinition): RowReferences {
  const { name: table, fields, softDeletion } = definition
  const lowestId = fields.id!.idPrefix === undefined ? 0 : ''
  // The texts differ by declared names only.
  const queryOf = createStatementCache()
  const measureOf = createStatementCache()
  const referringRows = (field: string, isMarked: boolean) => {
    const state = softDeletion ? ` AND ${DELETED_FIELD} IS ${isMarked ? 'NOT NULL' : 'NULL'}` : ''
    return `${field} = ?${state}`
  }
  // Neither database reads the text for its length.
  const sizeTerm = tableFields(fields)
    .filter(([, spec]) => columnType(spec) === 'text')
    .map(([name]) => `coalesce(octet_length(${name}), 0)`)
    .concat('0')
    .join(' + ')
  return {
    async measureReferences(tx, scope, { field, id, isDeleted: isMarked }) {
      const statement = measureOf(`${field} ${isMarked}`, () => {
        const condition = referringRows(field, isMarked)
        return `SELECT count(*), sum(size) FROM (SELECT ${sizeTerm} AS size FROM ${table}
          WHERE scope = ? AND ${condition} LIMIT ?) AS referring`
      })
      const limit = budgetOf(tx).left('rows') + 1
      const [[rows, bytes] = []] = await tx.arrays(statement([scope, id, Math.max(1, limit)]))
      return { rows: Number(rows), words: 0, bytes: Number(bytes ?? 0) }
    },
    async findReferenceTo(reader, scope, { field, id, isDeleted: isMarked }, after) {
      if (isMarked && !softDeletion) return undefined
      const statement = queryOf(`${field} ${isMarked}`, () => {
        const condition = referringRows(field, isMarked)
        return `SELECT id FROM ${table} WHERE scope = ? AND ${condition} AND id > ?
          ORDER BY id LIMIT 1`
      })
      const row = await reader.get<{ id: RowId }>(statement([scope, id, after ?? lowestId]))
      return row?.id
    },
  }
}
