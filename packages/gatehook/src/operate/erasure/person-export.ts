/**
 * The data of a person as NDJSON (§18.11): its rows, their events, inputs of jobs, and the rows of
 * the engine that name it. It reads page by page; the ids of the rows of one resource are in
 * memory. It leaves out data of others that mention the person, and who else requested what
 * concerns it.
 */
import { setImmediate as nextTick } from 'node:timers/promises'
import type { PersonPlace } from '../../declare/resources/person-rows.ts'
import type { PersonalData } from '../../declare/resources/personal-data.ts'
import type { Actor } from '../../history/audit/actor.ts'
import { recordAudit } from '../../history/audit/store.ts'
import { events } from '../../history/events/tables.ts'
import type { Administration } from '../../identity/access/administration.ts'
import { findCustomerIdOf } from '../../identity/access/customer-reader.ts'
import type { Directory } from '../../identity/people/person.ts'
import type { RowId } from '../../kernel/row-id.ts'
import { jobs } from '../../platform/jobs/tables.ts'
import {
  exportedRow,
  isExported,
  type OwnedTable,
  type RowPosition,
  type SecretFields,
} from '../../platform/storage/customer-rows.ts'
import type { Reader, Value } from '../../platform/storage/database.ts'
import { type NamedCells, recordedEvent } from './erased-events.ts'
import { findPersonRow } from './person-erasure.ts'
import { type PersonStepDeps, placeOf, recordedJob, rowPages } from './person-steps.ts'
import { PersonValues } from './person-values.ts'
import { SLICE_ROWS } from './slices.ts'

interface PersonExportDeps
  extends Pick<PersonStepDeps, 'db' | 'personal' | 'tables' | 'monitoring'> {
  readonly admin: Administration
  readonly directory: Directory
  readonly readSecretFields: () => Promise<SecretFields>
}

/**
 * Audits the export, and returns its lines: several in a text, or none, so that a reader that has
 * left ends it between two pages. Throws 404.
 */
export type ExportPerson = (id: number, actor: Actor) => Promise<AsyncIterable<string>>

export function createPersonExport(deps: PersonExportDeps): ExportPerson {
  return async (id, actor) => {
    const { admin } = deps
    const scope = await admin.db.write(async (tx) => {
      const { scope } = await findPersonRow(tx, deps, id)
      await recordAudit(tx, { actor, action: 'person.export', target: String(id), scope }, admin)
      return scope
    })
    const customer = (await findCustomerIdOf(admin.db, scope))!
    return readLines(deps, { scope, id }, customer)
  }
}

/** Text of rows between two turns of other requests. */
const TURN_CHARACTERS = 65_536

/** Passes through the rows of a resource. */
const PASSES_MAX = 5
/** Rows of a resource, beyond which an export has one pass: their ids are in memory. */
const NOTED_ROWS_MAX = 200_000

const line = (table: string, row: object): string => `${JSON.stringify({ table, row })}\n`

/**
 * Returns the lines of a person's rows in a resource, each row once. The rows of one parent follow
 * those of another, and deleted rows the others: a row that moves before the walk is found by the
 * next pass. Passes end with the first one that finds no row.
 */
export async function* readRows(
  reader: Reader,
  { table, list, read }: Pick<PersonalData['rows'][number], 'table' | 'list' | 'read'>,
  person: PersonPlace,
): AsyncGenerator<string> {
  const ids = new Set<RowId>()
  for (let pass = 1, hasRows = true; hasRows && pass <= PASSES_MAX; pass++) {
    hasRows = false
    for (let after: readonly Value[] | undefined; ; ) {
      const page = await list(reader, person, after, SLICE_ROWS)
      let text = ''
      for (const { id } of page.rows) {
        if (ids.has(id)) continue
        const row = await read(reader, person, id)
        if (!row) continue
        hasRows = true
        if (ids.size <= NOTED_ROWS_MAX) ids.add(id)
        text += line(table, row)
        if (text.length < TURN_CHARACTERS) continue
        yield text
        text = ''
        await nextTick()
      }
      yield text
      await nextTick() // other requests run between two pages
      if (!page.next) break
      after = page.next
    }
    if (ids.size > NOTED_ROWS_MAX) return
  }
}

async function* readLines(
  { db, personal, tables, monitoring, directory, readSecretFields }: PersonExportDeps,
  person: Parameters<typeof placeOf>[0],
  customer: string,
): AsyncGenerator<string> {
  for (const rows of personal.rows) yield* readRows(db, rows, person)
  // Without values: rows of others can mention the person.
  const trace = new PersonValues({ id: String(person.id), resource: directory.resource })
  const options = { secretFields: await readSecretFields(), person: trace.id }
  const findings = new PersonValues(trace)
  const ignore = () => {}
  const isOf = async (table: OwnedTable, row: NamedCells): Promise<boolean> => {
    if (table === events) {
      return (await personal.eraseEvent(db, person, recordedEvent(row), findings)) !== undefined
    }
    if (table === jobs) return personal.eraseInput(person, recordedJob(row), ignore) !== undefined
    return table.ofPerson!.isOf(row, trace)
  }
  const exported = tables.filter((table) => table.ofPerson && isExported(table))
  for (const table of [events, jobs, ...exported]) {
    const pages = rowPages(table.apart ? monitoring : db, placeOf(person, customer), table)
    for (let position: RowPosition | undefined = { owner: 0 }; position; ) {
      const page = await pages(position)
      let text = ''
      for (const row of page.rows) {
        await nextTick() // its texts have up to 256 KiB
        if (await isOf(table, row)) text += line(table.name, exportedRow(table, row, options))
      }
      yield text
      position = page.next
    }
  }
}
