/** SQL of the rows that refer to a row, for its deletion (`row-deletion.ts`). */
import type { RowId } from '../../kernel/row-id.ts'
import { budgetOf, type ChangeCost } from '../../platform/storage/change-budget.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { createStatementCache } from '../../platform/storage/sql.ts'
import { columnType } from './column-types.ts'
import { tableFields } from './computed.ts'
import { type InnerReference, referenceWord } from './inner-references.ts'
import type { ResourceDefinition } from './resource.ts'
import { DELETED_FIELD } from './soft-deletion.ts'
import { wordTable } from './table.ts'

/** The rows whose `field` refers to `id`: those that are marked as deleted, or the others. */
export interface RowReference {
  readonly field: string
  /** The reference inside the value of the field. */
  readonly inner?: InnerReference | undefined
  readonly id: RowId
  readonly isDeleted: boolean
}

/** A row that refers to another one, in the order of the search. */
export interface ReferrerPlace {
  readonly id: RowId
  /** Of a row that is marked as deleted. */
  readonly deletedAt?: number
}

type ReferenceSizes = Required<Omit<ChangeCost, 'deliveries'>>

export interface RowReferences {
  /**
   * Returns the number of rows that refer to a row, with their words and the bytes of their texts,
   * and reads none of them. It counts one row, or word, more than the budget has left at most.
   */
  measureReferences(tx: Tx, scope: number, reference: RowReference): Promise<ReferenceSizes>
  /**
   * Returns the first row after `after`, or of all, among the rows that refer to a row. Their order
   * is that of the id, or of the deletion.
   */
  findReferenceTo(
    reader: Reader,
    scope: number,
    reference: RowReference,
    after?: ReferrerPlace,
  ): Promise<ReferrerPlace | undefined>
}

export function createRowReferences(definition: ResourceDefinition): RowReferences {
  const { name: table, fields, softDeletion } = definition
  const lowestId = fields.id!.idPrefix === undefined ? 0 : ''
  // The texts differ by declared names only.
  const queryOf = createStatementCache()
  const measureOf = createStatementCache()
  const referringRows = ({ field, inner, isDeleted: isMarked }: RowReference) => {
    const state = softDeletion ? ` AND ${DELETED_FIELD} IS ${isMarked ? 'NOT NULL' : 'NULL'}` : ''
    if (!inner) return `FROM ${table} WHERE scope = ? AND ${field} = ?${state}`
    // SQLite reads the tables of a CROSS JOIN in their order: words in the order of ids.
    return `FROM ${wordTable(definition)} AS words CROSS JOIN ${table}
      WHERE words.scope = ? AND words.word = ?
      AND ${table}.scope = words.scope AND ${table}.id = words.id${state}`
  }
  const keyOf = ({ field, inner, isDeleted }: RowReference) =>
    `${inner?.path ?? field} ${isDeleted}`
  // Words have the state, too: the rows of the other one are not passed.
  const wordOrId = ({ inner, id, isDeleted }: RowReference) =>
    inner ? referenceWord(inner.path, id, isDeleted) : id
  // Neither database reads the text for its length.
  const sizeTerm = tableFields(fields)
    .filter(([, spec]) => columnType(spec) === 'text')
    .map(([name]) => `coalesce(octet_length(${table}.${name}), 0)`)
    .concat('0')
    .join(' + ')
  return {
    async measureReferences(tx, scope, reference) {
      const statement = measureOf(
        keyOf(reference),
        () =>
          `SELECT count(*), sum(size) FROM
            (SELECT ${sizeTerm} AS size ${referringRows(reference)} LIMIT ?) AS referring`,
      )
      const limit = Math.max(1, budgetOf(tx).left('rows') + 1)
      const [[rows, bytes] = []] = await tx.arrays(statement([scope, wordOrId(reference), limit]))
      return { rows: Number(rows), words: 0, bytes: Number(bytes ?? 0) }
    },
    async findReferenceTo(reader, scope, reference, after) {
      if (reference.isDeleted && !softDeletion) return undefined
      // The index of the reference has the deletion before the id. In the order of the id, SQLite
      // would pass all rows of the customer.
      const isMarked = reference.isDeleted && !reference.inner
      const statement = queryOf(keyOf(reference), () => {
        const id = reference.inner ? 'words.id' : 'id'
        const rows = referringRows(reference)
        if (!isMarked) return `SELECT ${id} ${rows} AND ${id} > ? ORDER BY ${id} LIMIT 1`
        return `SELECT id, ${DELETED_FIELD} ${rows} AND (${DELETED_FIELD}, id) > (?, ?)
          ORDER BY ${DELETED_FIELD}, id LIMIT 1`
      })
      const place = [...(isMarked ? [after?.deletedAt ?? 0] : []), after?.id ?? lowestId]
      const [row] = await reader.arrays(statement([scope, wordOrId(reference), ...place]))
      if (!row) return undefined
      const id = row[0] as RowId
      return isMarked ? { id, deletedAt: Number(row[1]) } : { id }
    },
  }
}
