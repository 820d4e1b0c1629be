/**
 * Computes stored fields and folded columns of the rows that a table has already, in batches of
 * one transaction each: new ones, and all after a migration of the service. An interrupted start
 * resumes after the last batch. Records no events.
 */

import type { BatchPace } from '../../kernel/pace.ts'
import {
  ConstraintError,
  type Database,
  type Tx,
  type Value,
} from '../../platform/storage/database.ts'
import { createRowPages } from '../../platform/storage/key-pages.ts'
import { prepareStatement, sql } from '../../platform/storage/sql.ts'
import { DeclarationError } from '../../protocol/fields/declaration-mistakes.ts'
import { columnType } from './column-types.ts'
import { columnFields, storedComputations } from './computed.ts'
import { selectTerms } from './derived.ts'
import { foldCell, foldedColumns } from './folded-columns.ts'
import type { ResourceDefinition } from './resource.ts'
import { createRowComputer } from './rows.ts'
import type { ServiceDefinition } from './service.ts'
import { createShape, rowDecoder } from './shape.ts'
import { cellWriter } from './table.ts'

/** The tables whose rows lack computed values: the fields, and the key of the last batch. */
const STATE_TABLE = 'gh_computed_fills'

/** Rows that one transaction locks and changes at most. */
const BATCH_ROWS = 500
/** Rows between two lines of progress. */
const PROGRESS_ROWS = 100_000

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

/** Records in the transaction that changes the table that its rows lack the values. */
export async function requestFill(tx: Tx, definition: ResourceDefinition): Promise<void> {
  // All computed fields are computed again, from the first row.
  await tx.run(sql`INSERT INTO gh_computed_fills (resource, last_key)
    VALUES (${definition.name}, ${null}) ON CONFLICT (resource) DO UPDATE SET last_key = NULL`)
}

/** Returns the names of resources whose rows lack computed values. */
export async function listPendingFills(db: Database): Promise<Set<string>> {
  if ((await db.columns(STATE_TABLE)).length === 0) return new Set()
  const rows = await db.arrays(sql`SELECT resource FROM gh_computed_fills`)
  return new Set(rows.map(([name]) => String(name)))
}

/** How a node fills rows beside requests. */
interface BackgroundFill {
  readonly resources: readonly ResourceDefinition[]
  /** Receives what a start throws: the rows stay as they are, and the other rows are filled. */
  readonly onFailure: (error: DeclarationError) => void
  readonly pace?: BatchPace | undefined
}

/**
 * Computes the fields of all rows that lack them. Throws `DeclarationError` if own code fails, or
 * computed values conflict.
 */
export async function fillComputedFields(
  db: Database,
  service: ServiceDefinition,
  progress: (line: string) => void,
  { resources = service.resources, onFailure, pace }: Partial<BackgroundFill> = {},
): Promise<void> {
  const pending = await listPendingFills(db)
  for (const definition of resources) {
    if (!pending.has(definition.name)) continue
    const fillBatch = createBatchFill(db, definition, service, onFailure)
    let rows = 0
    for (;;) {
      if ((await pace?.()) === false) return
      const count = await db.write(fillBatch).catch((error: unknown) => {
        const failure = describeConflict(definition, error)
        if (!onFailure || !(failure instanceof DeclarationError)) throw failure
        onFailure(failure)
        return undefined
      })
      if (count === undefined) break
      rows += count
      if (rows % PROGRESS_ROWS < count) progress(`table ${definition.name}: ${rows} rows computed`)
    }
    if (rows > 0) {
      const names = filledColumns(definition).join(', ')
      progress(`table ${definition.name}: ${names} of ${rows} rows computed`)
    }
  }
}

/** Names the index that two rows violate with their computed values. Other errors pass. */
function describeConflict({ name }: ResourceDefinition, error: unknown): unknown {
  if (!(error instanceof ConstraintError) || error.kind !== 'unique') return error
  return new DeclarationError(
    `Rows of ${name} are equal in the unique index ${error.index}, with the values that the ` +
      'start computes. Change or delete the rows of which only one can stay.',
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

/** Returns a function that computes the next rows. It returns undefined at the end. */
function createBatchFill(
  db: Database,
  definition: ResourceDefinition,
  service: ServiceDefinition,
  onFailure?: (error: DeclarationError) => void,
) {
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
  return async (tx: Tx): Promise<number | undefined> => {
    // The lock lets one node at a time compute rows.
    const state = await tx.lock<{ last_key: string | null }>(
      sql`SELECT last_key FROM gh_computed_fills WHERE resource = ${name}`,
    )
    if (!state) return undefined
    const after = state.last_key === null ? undefined : (JSON.parse(state.last_key) as Value[])
    const { rows, next } = await readPage(tx, after, BATCH_ROWS)
    await Promise.all(
      rows.map(async ([scope, id, ...cells]) => {
        const values = valuesOf(id!, cells)
        // Most rows of a second fill have their values.
        if (!values || values.every((value, at) => value === cells[positions[at]!])) return
        await tx.run(update([...values, scope!, id!]))
      }),
    )
    const key = next && JSON.stringify(next)
    await (key
      ? tx.run(sql`UPDATE gh_computed_fills SET last_key = ${key} WHERE resource = ${name}`)
      : tx.run(sql`DELETE FROM gh_computed_fills WHERE resource = ${name}`))
    return rows.length
  }
}
