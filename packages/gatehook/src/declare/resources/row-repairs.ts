/**
 * Adds the derived values that another process did not write: those of rows that triggers have
 * recorded (`stale-rows.ts`). Each batch is one transaction. Records no events.
 */
import type { Log } from '../../kernel/log.ts'
import type { RowId } from '../../kernel/row-id.ts'
import type { Database, Tx, Value } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { columnFields } from './computed.ts'
import { createCellComputer, filledColumns } from './computed-fill.ts'
import { derivationsOf, listDerivations } from './derivation.ts'
import { selectTerms } from './derived.ts'
import type { ResourceDefinition } from './resource.ts'
import { createSearchIndex, hasWords, wordSources } from './search-index.ts'
import type { ServiceDefinition } from './service.ts'

/** Records that one transaction reads; a row has one for each derivation. */
export const BATCH_RECORDS = 500

export interface RowRepairs {
  /** Returns whether rows of the scope lack derived values. */
  isNeeded(scope: number): Promise<boolean>
  /**
   * Repairs rows of at most `BATCH_RECORDS` records, of one scope or of all, and returns the number
   * of records. Of all scopes, rows that another node repairs now are left out.
   */
  repair(scope?: number): Promise<number>
}

interface RepairDeps {
  readonly db: Database
  readonly service: ServiceDefinition
  readonly log: Pick<Log, 'error'>
}

/** Undefined for a service without derivations, and for distributed tables. */
export function createRowRepairs({ db, service, log }: RepairDeps): RowRepairs | undefined {
  const derivations = listDerivations(service)
  // No trigger records rows of distributed tables.
  if (derivations.length === 0 || db.dialect.distributed) return undefined
  const repairs = new Map<string, RepairRow>()
  for (const definition of service.resources) {
    const repair = createRepair({ db, service, log }, definition)
    for (const derivation of derivationsOf(definition)) repairs.set(derivation, repair)
  }
  const names = `derivation IN (${derivations.map(() => '?').join(', ')})`
  const find = prepareStatement(`SELECT 1 FROM gh_stale_rows WHERE scope = ? AND ${names} LIMIT 1`)
  const read = (condition: string, locks: string) => {
    const text = `SELECT scope, derivation, id FROM gh_stale_rows
      WHERE ${condition} ORDER BY derivation, scope, id LIMIT ${BATCH_RECORDS}`
    return prepareStatement(`${text} ${locks}`, text)
  }
  const readScope = read(`scope = ? AND ${names}`, 'FOR UPDATE')
  const readAll = read(names, 'FOR UPDATE SKIP LOCKED')
  const remove = prepareStatement(
    'DELETE FROM gh_stale_rows WHERE scope = ? AND derivation = ? AND id = ?',
  )
  return {
    isNeeded: async (scope) => (await db.arrays(find([scope, ...derivations]))).length > 0,
    repair: (scope) =>
      db.write(async (tx) => {
        const statement =
          scope === undefined ? readAll(derivations) : readScope([scope, ...derivations])
        const records = await tx.arrays(statement)
        const repaired = new Set<string>()
        for (const [rowScope, derivation, id] of records) {
          const repair = repairs.get(String(derivation))!
          const key = `${rowScope} ${repair.table} ${id}`
          // All derivations of a row are repaired at once.
          if (!repaired.has(key)) await repair.run(tx, Number(rowScope), String(id))
          repaired.add(key)
        }
        // The locks of the rows last until the commit: a later change records its row again.
        await Promise.all(records.map((record) => tx.run(remove(record))))
        return records.length
      }),
  }
}

interface RepairRow {
  readonly table: string
  run(tx: Tx, scope: number, id: string): Promise<void>
}

function createRepair({ db, service, log }: RepairDeps, definition: ResourceDefinition): RepairRow {
  const { name, fields } = definition
  const columns = columnFields(fields)
  const names = filledColumns(definition)
  const byId = 'WHERE scope = ? AND id = ?'
  const selection = `SELECT ${selectTerms(columns, db.name)} FROM ${name} ${byId}`
  const select = prepareStatement(`${selection} FOR UPDATE`, selection)
  const assignments = names.map((field) => `${field} = ?`).join(', ')
  const update = prepareStatement(`UPDATE ${name} SET ${assignments} ${byId}`)
  const compute = createCellComputer(definition, service)
  const index = hasWords(definition) ? createSearchIndex(definition) : undefined
  const { wordsOf } = wordSources(definition)
  const columnNames = columns.map(([column]) => column)
  const computeRow = (id: RowId, cells: readonly Value[]): Value[] | undefined => {
    try {
      return compute(cells)
    } catch (error) {
      log.error({ err: error, resource: name, id }, 'the computed fields of a row stay as they are')
      return undefined
    }
  }
  return {
    table: name,
    async run(tx, scope, text) {
      const id: RowId = fields.id!.idPrefix === undefined ? Number(text) : text
      const [cells] = await tx.arrays(select([scope, id]))
      const values = cells && names.length > 0 ? computeRow(id, cells) : undefined
      if (values) await tx.run(update([...values, scope, id]))
      if (!index) return
      await index.remove(tx, scope, id)
      const cellOf = (field: string): Value => {
        const at = names.indexOf(field)
        return at >= 0 && values ? values[at]! : cells![columnNames.indexOf(field)]!
      }
      if (cells) await index.add(tx, { scope, id, words: wordsOf(cellOf) })
    },
  }
}
