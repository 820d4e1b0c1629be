/**
 * Computes stored fields and folded columns of the rows that a table has already: new ones, and all
 * after a migration of the service. Records no events.
 */

import { ConstraintError, type Database, type Value } from '../../platform/storage/database.ts'
import { createRowPages } from '../../platform/storage/key-pages.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { DeclarationError } from '../../protocol/fields/declaration-mistakes.ts'
import { columnType } from './column-types.ts'
import { columnFields, storedComputations } from './computed.ts'
import { selectTerms } from './derived.ts'
import { foldCell, foldedColumns } from './folded-columns.ts'
import type { ResourceDefinition } from './resource.ts'
import { fillRequested, listPendingFills, type RowFill } from './row-fill.ts'
import { createRowComputer } from './rows.ts'
import type { ServiceDefinition } from './service.ts'
import { createShape, rowDecoder } from './shape.ts'
import { cellWriter } from './table.ts'

/** Rows that one transaction locks and changes at most. */
const BATCH_ROWS = 500
/** Returns the columns that a start computes: computed fields, then folded texts. */
export const filledColumns = (definition: ResourceDefinition): string[] => [
  ...storedComputations(definition),
  ...foldedColumns(definition.fields).map(({ column }) => column),
]

/** Returns those of the added columns that existing rows need computed. */
export const columnsToCompute = (
  definition: ResourceDefinition,
  added: readonly string[],
): string[] => [
  ...storedComputations(definition).filter((name) => added.includes(name)),
  // A new field has its default in all rows, and so has its folded column.
  ...foldedColumns(definition.fields)
    .filter(({ field, column }) => added.includes(column) && !added.includes(field))
    .map(({ column }) => column),
]

/**
 * Computes the fields of all rows that lack them. Throws `DeclarationError` if own code fails, or
 * computed values conflict.
 */
export async function fillComputedFields(
  db: Database,
  service: ServiceDefinition,
  progress: (line: string) => void,
): Promise<void> {
  const pending = await listPendingFills(db, 'columns')
  for (const definition of service.resources.filter(({ name }) => pending.has(name))) {
    const rows = await fillRequested(db, createComputedFill(db, definition, service), progress)
    if (rows === 0) continue
    const names = filledColumns(definition).join(', ')
    progress(`table ${definition.name}: ${names} of ${rows} rows computed`)
  }
}

/** Names the index that two rows violate with their computed values. Other errors pass. */
const rejectConflict = (table: string) => (error: unknown) => {
  if (!(error instanceof ConstraintError) || error.kind !== 'unique') throw error
  throw new DeclarationError(
    `Rows of ${table} are equal in the unique index ${error.index}, with their computed values. ` +
      'Change or delete the rows of which only one can stay.',
    { cause: error },
  )
}

/** Returns a function that computes the cells of `filledColumns` from all cells of a row. */
function createCellComputer(
  definition: ResourceDefinition,
  service: ServiceDefinition,
): (cells: readonly Value[]) => Value[] {
  const { fields } = definition
  const names = storedComputations(definition)
  const writers = names.map((field) => cellWriter(fields[field]!))
  const versions = service.versions.map((version) => version.name)
  const newest = createShape(definition, versions, versions.at(-1)!, service.resources)
  const decode = rowDecoder(definition)
  const compute = createRowComputer(definition, newest)
  const folded = foldedColumns(fields)
  return (cells) => {
    const row = compute(decode(cells))
    return [
      ...writers.map((write, at) => write(row[names[at]!])),
      ...folded.map(({ field }) => foldCell(cellWriter(fields[field]!)(row[field]))),
    ]
  }
}

/**
 * Returns the fill of all computed columns.
 *
 * @param onFailure receives the failure of a row, which stays; default: it ends the fill
 */
export function createComputedFill(
  db: Database,
  definition: ResourceDefinition,
  service: ServiceDefinition,
  onFailure?: (error: DeclarationError) => void,
): RowFill {
  const { name, fields } = definition
  const columns = [
    ...columnFields(fields),
    ...foldedColumns(fields).map(({ column, spec }) => [column, spec] as const),
  ]
  const names = filledColumns(definition)
  // A request that changes the row meanwhile waits, or has changed it before.
  const sized = columns
    .filter(([, { computed }]) => computed !== 'derived')
    .map(([column, spec]) => ({ name: column, type: columnType(spec) }))
  const readPage = createRowPages(db, name, selectTerms(columns, db.name), sized)
  const assignments = names.map((field) => `${field} = ?`).join(', ')
  const update = prepareStatement(`UPDATE ${name} SET ${assignments} WHERE scope = ? AND id = ?`)
  const computeCells = createCellComputer(definition, service)
  const positions = names.map((field) => columns.findIndex(([column]) => column === field))
  const valuesOf = (id: Value, cells: readonly Value[]): Value[] | undefined => {
    try {
      return computeCells(cells)
    } catch (error) {
      const { cause = error } = error as Error
      const reason = (cause as Error).message
      const failure = new DeclarationError(
        `The computed fields of ${name} cannot be added: row ${id}: ${reason}`,
        { cause: error },
      )
      if (!onFailure) throw failure
      onFailure(failure)
      return undefined
    }
  }
  return {
    resource: name,
    part: 'columns',
    done: 'computed',
    async fillBatch(tx, after) {
      const { rows, next } = await readPage(tx, after, BATCH_ROWS)
      await Promise.all(
        rows.map(async ([scope, id, ...cells]) => {
          const values = valuesOf(id!, cells)
          // Most rows of a second fill have their values.
          if (!values || values.every((value, at) => value === cells[positions[at]!])) return
          await tx.run(update([...values, scope!, id!]))
        }),
      ).catch(rejectConflict(name))
      return { count: rows.length, next }
    },
  }
}
