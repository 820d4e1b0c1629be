/**
 * The data of a customer as NDJSON (§18.11): each row of each table, without secret columns, and
 * without what identifies operators. It reads page by page, in constant memory. A row that changes
 * meanwhile is in it once, or not.
 */
import { setImmediate as nextTick } from 'node:timers/promises'
import type { Actor } from '../../history/audit/actor.ts'
import { recordAudit } from '../../history/audit/store.ts'
import type { Administration } from '../../identity/access/administration.ts'
import { lockDeletion } from '../../identity/access/store.ts'
import { Failure } from '../../kernel/failure.ts'
import {
  type CustomerPlace,
  CustomerRows,
  exportedRow,
  isExported,
  type OwnedTable,
  type RowPosition,
  type SecretFields,
} from '../../platform/storage/customer-rows.ts'
import type { Reader } from '../../platform/storage/database.ts'

const PAGE_ROWS = 200

interface ExportDeps {
  readonly admin: Administration
  /** Lists the tables with rows of customers, that of customers included. */
  readonly listTables: () => Promise<readonly OwnedTable[]>
  readonly monitoring: Reader
  readonly readSecretFields: () => Promise<SecretFields>
}

/**
 * Audits the export, and returns its lines: several in a text, or none, so that a reader that has
 * left ends it between two pages. Throws 404.
 */
export type ExportCustomer = (id: string, actor: Actor) => Promise<AsyncIterable<string>>

export function createCustomerExport({
  admin,
  listTables,
  monitoring,
  readSecretFields,
}: ExportDeps): ExportCustomer {
  return async (id, actor) => {
    const no = await admin.db.write(async (tx) => {
      const row = await lockDeletion(tx, id)
      if (!row) throw new Failure('not_found')
      await recordAudit(tx, { actor, action: 'customer.export', target: id }, admin)
      return row.no
    })
    const sources = { db: admin.db, monitoring, secretFields: await readSecretFields() }
    return readLines(sources, await listTables(), { id, no })
  }
}

interface ExportSources {
  readonly db: Reader
  readonly monitoring: Reader
  readonly secretFields: SecretFields
}

async function* readLines(
  { db, monitoring, secretFields }: ExportSources,
  tables: readonly OwnedTable[],
  customer: CustomerPlace,
): AsyncGenerator<string> {
  for (const table of tables.filter(isExported)) {
    const columns = Object.keys(table.columns).filter(
      (name) => table.columns[name]!.content !== 'secret',
    )
    const rows = new CustomerRows(table, columns)
    const reader = table.apart ? monitoring : db
    for (let position: RowPosition | undefined = { owner: 0 }; position; ) {
      const page = await rows.page(reader, customer, position, PAGE_ROWS)
      let text = ''
      for (const cells of page.rows) {
        const row = Object.fromEntries(columns.map((name, at) => [name, cells[at]!]))
        const exported = exportedRow(table, row, { secretFields })
        text += `${JSON.stringify({ table: table.name, row: exported })}\n`
      }
      yield text
      position = page.next
      await nextTick() // other requests run between two pages
    }
  }
}
