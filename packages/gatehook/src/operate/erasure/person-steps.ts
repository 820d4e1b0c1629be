/**
 * The steps of the erasure of a person (§18.11). The first pass collects personal values of rows,
 * events and inputs of the person. The later ones erase: rows, events and inputs by their owner,
 * once all values were collected; logs, mail and stored responses also by the values that they
 * mention.
 */
import { setImmediate as nextTick } from 'node:timers/promises'
import type { PersonPlace } from '../../declare/resources/person-rows.ts'
import type { PersonalData } from '../../declare/resources/personal-data.ts'
import type { ClearingWarrant } from '../../history/audit/chain.ts'
import type { AuditSigner } from '../../history/audit/store.ts'
import { auditTrail, mentionsInDetail } from '../../history/audit/tables.ts'
import { events } from '../../history/events/tables.ts'
import { customerNoOf } from '../../kernel/principal.ts'
import type { RowId } from '../../kernel/row-id.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { WakeDeliveries } from '../../outbound/deliveries/wake-up.ts'
import { evictWindows } from '../../outbound/deliveries/window-eviction.ts'
import { emissions } from '../../outbound/emissions/tables.ts'
import { MAIL_KINDS } from '../../platform/jobs/job.ts'
import { deleteLostResult, isUnfinished } from '../../platform/jobs/steps-store.ts'
import { removeJob, replaceJobInput } from '../../platform/jobs/store.ts'
import { jobs, steps } from '../../platform/jobs/tables.ts'
import {
  CustomerRows,
  type OwnedPlace,
  type OwnedTable,
  type RowPage,
  type RowPosition,
} from '../../platform/storage/customer-rows.ts'
import type { Database, Reader, Statement } from '../../platform/storage/database.ts'
import type { PersonRows } from '../../platform/storage/table.ts'
import { deleteLostResponse } from '../../protocol/idempotency/store.ts'
import {
  idempotencyRecords,
  RESPONSE_PURPOSE,
  responseRow,
} from '../../protocol/idempotency/tables.ts'
import {
  type ErasureState,
  type EventErasureDeps,
  erasedEmission,
  erasedEvent,
  lateResponses,
  type NamedCells,
  type RowErasure,
  recordedEvent,
} from './erased-events.ts'
import type { PersonValues } from './person-values.ts'
import { type RowPlace, SLICE_ROWS, type TableWalk, tableSlices, type WalkStep } from './slices.ts'
import { withoutNames } from './undeclared-objects.ts'

export interface PersonStepDeps extends EventErasureDeps {
  readonly vault: Vault
  /** The tables of the engine with rows of customers. */
  readonly tables: readonly OwnedTable[]
  readonly monitoring: RowPlace
  readonly trail: AuditSigner
  readonly wake: WakeDeliveries
}

/** The dependencies of the steps that erase. */
type PersonErasingDeps = PersonStepDeps & { readonly warrant: ClearingWarrant }

interface ErasurePlaces extends ErasureState {
  /** The rows of the customer and mode of the person. */
  readonly place: OwnedPlace
  /** The rows of the default customer, of operators, and of callers that were not identified. */
  readonly others: OwnedPlace
}

export const placeOf = ({ scope }: PersonPlace, customer: string): OwnedPlace => ({
  id: customer,
  no: customerNoOf(scope),
  scope,
})

/** Reads the rows of a scope page by page, with the names of their columns. */
export function rowPages(reader: Reader, place: OwnedPlace, table: OwnedTable) {
  const rows = new CustomerRows(table, Object.keys(table.columns))
  return async (position: RowPosition) => {
    const page = await rows.page(reader, place, position, SLICE_ROWS)
    const named = page.rows.map(
      (cells): NamedCells => Object.fromEntries(rows.columns.map((name, at) => [name, cells[at]!])),
    )
    return { rows: named, next: page.next }
  }
}

/** Returns the walk of the rows that have data of the person, and what it changes in them. */
function walkOf(
  table: OwnedTable,
  { columns, isOf }: Pick<PersonRows, 'columns' | 'isOf'>,
  values: PersonValues,
  change: (rows: CustomerRows, page: RowPage['rows']) => Statement,
): TableWalk {
  const rows = new CustomerRows(table, columns)
  const places = columns.map((name) => [name, rows.columns.indexOf(name)] as const)
  return {
    rows,
    has: (cells) =>
      isOf(Object.fromEntries(places.map(([name, at]) => [name, cells[at]!])), values),
    statement: (page) => change(rows, page),
  }
}

/** Returns the steps that collect the values of the person. */
export function collectingSteps(
  { db, personal }: PersonStepDeps,
  person: PersonPlace,
  { place, values }: ErasurePlaces,
): WalkStep[] {
  const onValue = values.add.bind(values)
  return [
    ...personal.rows.map((rows) =>
      ownedStep(db, person, rows, async (id) => {
        const row = await rows.read(db, person, id)
        if (row) personal.report(rows.table, row, onValue)
        return false
      }),
    ),
    collectingStep(db, place, events, (row) =>
      personal.eraseEvent(db, person, recordedEvent(row), values),
    ),
    collectingStep(db, place, jobs, async (row) =>
      personal.eraseInput(person, recordedJob(row), onValue),
    ),
  ]
}

/** Walks the rows of a table without a change. */
function collectingStep(
  db: Database,
  place: OwnedPlace,
  table: OwnedTable,
  visit: (row: NamedCells) => Promise<unknown>,
): WalkStep {
  const pages = rowPages(db, place, table)
  return {
    name: table.name,
    async slice(position) {
      const page = await pages(position)
      for (const row of page.rows) {
        await nextTick() // its texts have up to 256 KiB
        await visit(row)
      }
      return { changed: 0, next: page.next }
    },
  }
}

/** Walks the rows of the person in a resource; `visit` returns whether it changed the row. */
const ownedStep = (
  db: Database,
  person: PersonPlace,
  { table, list }: PersonalData['rows'][number],
  visit: (id: RowId) => Promise<boolean>,
): WalkStep => ({
  name: table,
  async slice({ after }) {
    const { rows, next } = await list(db, person, after, SLICE_ROWS)
    let changed = 0
    for (const { id } of rows) if (await visit(id)) changed += 1
    return { changed, next: next && { owner: 0, after: next } }
  },
})

export const recordedJob = ({ name, input, subject }: NamedCells) => ({
  name: String(name),
  text: String(input),
  subject: subject as string | null,
})

/** Returns the steps that erase the person, in the order in which later ones need the values. */
export function erasingSteps(
  deps: PersonErasingDeps,
  person: PersonPlace,
  places: ErasurePlaces,
): WalkStep[] {
  const { db, personal, tables, trail, warrant } = deps
  const { place, values, isPart } = places
  const ownRows = personal.rows.map((rows) =>
    ownedStep(db, person, rows, (id) => db.write((tx) => rows.erase(tx, person, id))),
  )
  const [inputs, results] = jobSteps(deps, person, places)
  return [
    ...(isPart ? [] : ownRows),
    // Before the events: one that a node records meanwhile is found there.
    rowStep(db, place, emissions, (row) => erasedEmission(deps, person, places, row)),
    rowStep(db, place, events, (row) => erasedEvent(deps, person, places, row)),
    inputs,
    rowStep(db, place, idempotencyRecords, async (row) => erasedResponse(deps, values, row)),
    results,
    {
      ...rowStep(db, place, auditTrail, async (row) => {
        if (!mentionsInDetail(row, values)) return undefined
        const replacement = {
          position: Number(row.position),
          detail: withoutNames(String(row.detail), values),
        }
        return (tx) => trail.replaceDetail(tx, replacement, warrant)
      }),
      name: `${auditTrail.name} details`,
    },
    ...tables.flatMap((table) => tableSteps(deps, table, places)),
    {
      name: 'windows of engines',
      async slice() {
        await evictWindows(db, deps.wake, person.scope)
        return { changed: 0, next: undefined }
      },
    },
  ]
}

/**
 * Returns the steps that erase what requests, deliveries and jobs stored after an erasure, which
 * had begun before. They know the id of the person, and no other value.
 */
export const lateSteps = (
  deps: PersonErasingDeps,
  person: PersonPlace,
  places: ErasurePlaces,
): WalkStep[] => [
  ...jobSteps(deps, person, places),
  rowStep(deps.db, places.place, events, (row) => lateResponses(deps, person, places, row)),
  ...deps.tables
    .filter(({ followsRequests }) => followsRequests)
    .flatMap((table) => tableSteps(deps, table, places)),
]

/** Returns the steps of the inputs, errors and results of jobs. */
const jobSteps = (
  deps: PersonErasingDeps,
  person: PersonPlace,
  places: ErasurePlaces,
): [inputs: WalkStep, results: WalkStep] => [
  rowStep(deps.db, places.place, jobs, async (row) => erasedJob(deps, person, places, row)),
  rowStep(deps.db, places.place, steps, (row) => erasedStep(deps.db, person, row)),
]

function tableSteps(
  deps: PersonErasingDeps,
  table: OwnedTable,
  { place, others, values }: ErasurePlaces,
): WalkStep[] {
  if (!table.ofPerson) return []
  const { effect, inRowsOfOthers } = table.ofPerson
  const database = deps.db.name
  const walk = walkOf(table, table.ofPerson, values, (rows, page) =>
    rows[effect === 'clear' ? 'clearing' : 'removal'](page, database),
  )
  const { name, followsRequests: isFollowed } = table
  const own = { name, slice: tableSlices(deps, place, walk), isFollowed }
  if (!inRowsOfOthers) return [own]
  const { cleared } = inRowsOfOthers
  const ofOthers = walkOf(table, inRowsOfOthers, values, (rows, page) =>
    rows.clearing(page, database, cleared),
  )
  return [
    own,
    // Operators work on data of the customer, too.
    { name: `${name} of operators`, slice: tableSlices(deps, place, ofOthers), isFollowed },
    {
      name: `${name} outside the customer`,
      slice: tableSlices(deps, others, ofOthers),
      isFollowed,
    },
  ]
}

/** Walks a table, and runs the change of each row that has one. */
function rowStep(
  db: Database,
  place: OwnedPlace,
  table: OwnedTable,
  changeOf: (row: NamedCells) => Promise<RowErasure | undefined>,
): WalkStep {
  const pages = rowPages(db, place, table)
  return {
    name: table.name,
    async slice(position) {
      const { rows, next } = await pages(position)
      let changed = 0
      for (const row of rows) {
        await nextTick() // its texts have up to 256 KiB
        const change = await changeOf(row)
        if (!change) continue
        await db.write(change)
        changed += 1
      }
      return { changed, next }
    },
  }
}

function erasedJob(
  { personal }: PersonStepDeps,
  person: PersonPlace,
  { values, isPart }: ErasurePlaces,
  row: NamedCells,
): RowErasure | undefined {
  const { no, kind, input, error } = row
  if (kind === 'erasure') return undefined
  if (MAIL_KINDS.some((mail) => mail === kind)) {
    return values.names(input, error) ? (tx) => removeJob(tx, Number(no)) : undefined
  }
  const job = recordedJob(row)
  const declared = personal.eraseInput(person, job, values.add.bind(values))
  const erased = isPart ? job.text : (declared ?? job.text)
  const isOfPerson = declared !== undefined
  const message = isOfPerson || values.mentions(error) ? null : (error as string | null)
  if (erased === job.text && message === error) return undefined
  return (tx) => replaceJobInput(tx, Number(no), erased, message)
}

/** Results of a job that has not ended are those by which it continues (§15.6). */
async function erasedStep(
  db: Database,
  { id }: PersonPlace,
  { job, name, subject, result }: NamedCells,
): Promise<RowErasure | undefined> {
  if (subject !== String(id) || result === null) return undefined
  if (await isUnfinished(db, String(job))) return undefined
  return (tx) => deleteLostResult(tx, String(job), String(name))
}

/** A response that mentions the person is deleted; its key stays used, and a repeat is rejected. */
function erasedResponse(
  { vault }: PersonStepDeps,
  values: PersonValues,
  { scope, id, answer }: NamedCells,
): RowErasure | undefined {
  if (answer === null) return undefined
  const record = { scope: Number(scope), id: id as Uint8Array }
  const row = responseRow(record.scope, record.id)
  const text = vault.decrypt(RESPONSE_PURPOSE, row, answer as Uint8Array).toString()
  if (!values.identifies(text)) return undefined
  return (tx) => deleteLostResponse(tx, record.scope, record.id)
}
