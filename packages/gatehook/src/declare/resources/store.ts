/** SQL of one resource's rows. Every statement filters by scope, and by owner (§1.1, §6.7). */

import type { RowId } from '../../kernel/row-id.ts'
import { budgetOf, bytesOfValues } from '../../platform/storage/change-budget.ts'
import type { Reader, Statement, Tx, Value } from '../../platform/storage/database.ts'
import { runOne } from '../../platform/storage/discarded-rows.ts'
import type { DatabaseName } from '../../platform/storage/expressions.ts'
import {
  createStatementCache,
  ID_LIST_SIZES,
  prepareStatement,
  seekByIds,
} from '../../platform/storage/sql.ts'
import { ownerCondition } from '../../protocol/lists/collection.ts'
import type { RowScope } from '../../protocol/lists/page.ts'
import { columnFields, tableFields } from './computed.ts'
import { derivedComputation, selectTerms } from './derived.ts'
import { comparedName, foldCell, foldedColumns } from './folded-columns.ts'
import { ownerPathOf } from './ownership.ts'
import type { ResourceDefinition } from './resource.ts'
import { createRowReferences, type RowReferences } from './row-references.ts'
import { DELETED_FIELD, LIVE_ROWS } from './soft-deletion.ts'
import { cellWriter } from './table.ts'

export interface RowStore extends RowReferences {
  /** Returns the cells of a row in declared order. */
  find(reader: Reader, reach: RowScope, id: RowId): Promise<Value[] | undefined>
  /** Returns the cells of the row with the values of a unique tuple. */
  findUnique(
    reader: Reader,
    reach: RowScope,
    fields: readonly string[],
    values: Readonly<Record<string, unknown>>,
  ): Promise<Value[] | undefined>
  /** Returns the cells of the rows of the ids in reach, in no order: 128 by each statement. */
  findAll(reader: Reader, reach: RowScope, ids: readonly RowId[]): Promise<Value[][]>
  /** Returns the cells, and locks the row against changes until the transaction ends. */
  lock(tx: Tx, reach: RowScope, id: RowId): Promise<Value[] | undefined>
  /** The same for a deletion, which waits for those who hold the row. */
  lockForDeletion(tx: Tx, reach: RowScope, id: RowId): Promise<Value[] | undefined>
  /** Returns whether the row is in reach, and prevents its deletion until the transaction ends. */
  hold(tx: Tx, reach: RowScope, id: RowId): Promise<boolean>
  /** Like `hold` for any number of rows. Returns the ids of those in reach. */
  holdAll(tx: Tx, reach: RowScope, ids: readonly RowId[]): Promise<ReadonlySet<RowId>>
  /** Like `holdAll`, without locks. */
  existing(tx: Tx, reach: RowScope, ids: readonly RowId[]): Promise<ReadonlySet<RowId>>
  /** Returns the id, which the database generates unless ids are texts. */
  insert(tx: Tx, scope: number, row: Readonly<Record<string, unknown>>): Promise<RowId>
  update(
    tx: Tx,
    scope: number,
    id: RowId,
    changed: Readonly<Record<string, unknown>>,
  ): Promise<void>
  remove(tx: Tx, scope: number, id: RowId): Promise<void>
  /** Like `lock`, for a row that is marked as deleted. */
  lockDeleted(tx: Tx, reach: RowScope, id: RowId): Promise<Value[] | undefined>
}

/** @param resources the resources through which rows have their owner (§6.7) */
export function createRowStore(
  definition: ResourceDefinition,
  resources: readonly ResourceDefinition[],
): RowStore {
  const { name: table, fields, softDeletion } = definition
  const names = columnFields(fields).map(([name]) => name)
  const hasIntegerIds = fields.id!.idPrefix === undefined
  const insertedNames = tableFields(fields)
    .map(([name]) => name)
    .filter((name) => !hasIntegerIds || name !== 'id')
  const { columnsOf, cellsOf } = cellsOfWrites(fields)
  const byId = 'WHERE scope = ? AND id = ?'
  const isLive = softDeletion ? ` AND ${LIVE_ROWS}` : ''
  const isDeleted = ` AND ${DELETED_FIELD} IS NOT NULL`
  const selectionFor = (database: DatabaseName) =>
    `SELECT ${selectTerms(columnFields(fields), database)} FROM ${table}`
  const [selection, sqliteSelection] = [selectionFor('postgres'), selectionFor('sqlite')]
  const prepareSelection = (where: string, whereOfSqlite = where) =>
    statementByIds(
      `${selection} ${where}`,
      definition,
      resources,
      `${sqliteSelection} ${whereOfSqlite}`,
    )
  const selectById = prepareSelection(`${byId}${isLive}`)
  const existsById = statementByIds(
    `SELECT 1 AS one FROM ${table} ${byId}${isLive}`,
    definition,
    resources,
  )
  const select = (reach: RowScope, id: RowId) => selectById(reach, [id])
  const selectDeleted = prepareSelection(`${byId}${softDeletion ? isDeleted : ''}`)
  const exists = (reach: RowScope, id: RowId) => existsById(reach, [id])
  const selectAll = byIdLists((ids) => {
    const where = `WHERE scope = ? AND id IN (${ids})${isLive}`
    return prepareSelection(where, hasIntegerIds ? seekByIds(where) : where)
  })
  const insert = prepareStatement(
    `INSERT INTO ${table} (${['scope', ...columnsOf(insertedNames)].join(', ')})
     VALUES (${['scope', ...columnsOf(insertedNames)].map(() => '?').join(', ')})`,
  )
  const remove = prepareStatement(`DELETE FROM ${table} ${byId}`)
  // The texts differ by declared names only.
  const updateOf = createStatementCache()
  const lockCells = cellLocker(names)
  const compute = derivedComputation(definition)
  return {
    find: async (reader, reach, id) => (await reader.arrays(select(reach, id)))[0],
    findUnique: uniqueFinder(definition, (where) => prepareSelection(`${where}${isLive}`)),
    async findAll(reader, reach, ids) {
      const rows: Value[][] = []
      for (const statement of selectAll(reach, ids)) rows.push(...(await reader.arrays(statement)))
      return rows
    },
    lock: (tx, reach, id) => lockCells(tx, select(reach, id), 'change'),
    lockForDeletion: (tx, reach, id) => lockCells(tx, select(reach, id)),
    hold: async (tx, reach, id) => (await tx.hold(exists(reach, id))).length > 0,
    ...idReaders(definition, resources, isLive),
    async insert(tx, scope, row) {
      const values = cellsOf(insertedNames, row)
      budgetOf(tx).charge({ bytes: bytesOfValues(values) })
      const statement = insert([scope, ...values])
      if (hasIntegerIds) return compute(() => tx.insert(statement))
      await compute(() => runOne(tx, statement))
      return row.id as string
    },
    async update(tx, scope, id, changed) {
      const written = Object.keys(changed)
      const statement = updateOf(written.join(), () => {
        const sets = columnsOf(written).map((name) => `${name} = ?`)
        return `UPDATE ${table} SET ${sets.join(', ')} ${byId}`
      })
      const values = cellsOf(written, changed)
      budgetOf(tx).charge({ rows: 1, bytes: bytesOfValues(values) })
      await compute(() => runOne(tx, statement([...values, scope, id])))
    },
    async remove(tx, scope, id) {
      budgetOf(tx).charge({ rows: 1 })
      await runOne(tx, remove([scope, id]))
    },
    async lockDeleted(tx, { owner, scope }, id) {
      if (!softDeletion) return undefined
      return lockCells(tx, selectDeleted({ owner, scope }, [id]))
    },
    ...createRowReferences(definition),
  }
}

/** Returns the function that locks a row, and returns its cells. */
const cellLocker =
  (names: readonly string[]) =>
  async (tx: Tx, statement: Statement, purpose?: 'change'): Promise<Value[] | undefined> => {
    const row = await tx.lock<Record<string, Value>>(statement, purpose)
    if (!row) return undefined
    const values = names.map((name) => row[name]!)
    budgetOf(tx).charge({ bytes: bytesOfValues(values) })
    return values
  }

/** Returns the functions that list the columns and the cells of written fields. */
function cellsOfWrites(fields: ResourceDefinition['fields']) {
  const writers = Object.fromEntries(
    columnFields(fields).map(([name, spec]) => [name, cellWriter(spec)]),
  )
  const folded = foldedColumns(fields)
  const foldedOf = (written: readonly string[]) =>
    folded.filter(({ field }) => written.includes(field))
  return {
    /** Returns the columns of fields, then those with their folded texts. */
    columnsOf: (written: readonly string[]): string[] => [
      ...written,
      ...foldedOf(written).map(({ column }) => column),
    ],
    /** Returns the cells of `columnsOf`. */
    cellsOf: (written: readonly string[], row: Readonly<Record<string, unknown>>): Value[] => [
      ...written.map((name) => writers[name]!(row[name])),
      ...foldedOf(written).map(({ field }) => foldCell(writers[field]!(row[field]))),
    ],
  }
}

/**
 * Returns the function that finds a row by a unique tuple.
 *
 * @param prepare prepares the selection by a scope and values
 */
function uniqueFinder(
  { fields }: Pick<ResourceDefinition, 'fields'>,
  prepare: (where: string) => ReturnType<typeof statementByIds>,
): RowStore['findUnique'] {
  /** By the fields of a tuple, of which a declaration has few. */
  const selects = new Map<string, ReturnType<typeof statementByIds>>()
  return async (reader, reach, unique, values) => {
    const key = unique.join()
    let select = selects.get(key)
    if (!select) {
      const conditions = unique.map((name) => `${comparedName(fields, name)} = ?`)
      selects.set(key, (select = prepare(`WHERE scope = ? AND ${conditions.join(' AND ')}`)))
    }
    const cells = unique.map((name) => {
      const cell = cellWriter(fields[name]!)(values[name])
      return comparedName(fields, name) === name ? cell : foldCell(cell)
    })
    return (await reader.arrays(select(reach, cells as RowId[])))[0]
  }
}

/** Returns the functions that find rows by ids, with and without locks. */
function idReaders(
  definition: ResourceDefinition,
  resources: readonly ResourceDefinition[],
  isLive: string,
): Pick<RowStore, 'holdAll' | 'existing'> {
  const { name, fields } = definition
  const select = byIdLists((ids) => {
    const text = `SELECT id FROM ${name} WHERE scope = ? AND id IN (${ids})${isLive}`
    const sqlite = fields.id!.idPrefix === undefined ? seekByIds(text) : text
    return statementByIds(text, definition, resources, sqlite)
  })
  const readerOf =
    (method: 'hold' | 'all'): RowStore['holdAll'] =>
    async (tx, reach, ids) => {
      const existing = new Set<RowId>()
      // Each transaction locks rows in the order of their ids.
      for (const statement of select(reach, [...ids].sort())) {
        for (const { id } of await tx[method]<{ id: RowId }>(statement)) existing.add(id)
      }
      return existing
    }
  return { holdAll: readerOf('hold'), existing: readerOf('all') }
}

/** Returns a function that returns the statements for any number of ids. */
function byIdLists(prepare: (ids: string) => ReturnType<typeof statementByIds>) {
  const statements = ID_LIST_SIZES.map((size) => ({
    size,
    select: prepare(Array(size).fill('?').join(', ')),
  }))
  return (reach: RowScope, ids: readonly RowId[]): Statement[] => {
    const result: Statement[] = []
    for (let from = 0; from < ids.length; ) {
      const left = ids.length - from
      const { size, select } = statements.find(({ size }) => size >= left) ?? statements.at(-1)!
      const part = ids.slice(from, from + size)
      result.push(select(reach, [...part, ...Array<RowId>(size - part.length).fill(part.at(-1)!)]))
      from += size
    }
    return result
  }
}

/** Prepares a statement by scope and ids, for every row and for the rows of one person. */
function statementByIds(
  text: string,
  definition: ResourceDefinition,
  resources: readonly ResourceDefinition[],
  sqlite = text,
) {
  const unowned = prepareStatement(text, sqlite)
  const path = ownerPathOf(definition, resources)
  if (!path) {
    return ({ scope, owner }: RowScope, ids: readonly RowId[]) => {
      if (owner !== undefined) throw new Error(`rows of ${definition.name} have no owner`)
      return unowned([scope, ...ids])
    }
  }
  const slots = { scope: Symbol('scope'), owner: Symbol('owner') }
  const condition = ownerCondition(path, slots.scope, slots.owner)
  const owned = prepareStatement(`${text} AND ${condition.sql}`, `${sqlite} AND ${condition.sql}`)
  return ({ scope, owner }: RowScope, ids: readonly RowId[]) => {
    if (owner === undefined) return unowned([scope, ...ids])
    const values = condition.values.map((slot) => (slot === slots.scope ? scope : owner))
    return owned([scope, ...ids, ...values])
  }
}
