/**
 * Deletes the rows of a customer (§18.11), in pieces of the job queue: a piece deletes slices until
 * its time is over, rests as long after each as the slice took, and enqueues the next piece, which
 * continues at its position. So it delays no request, and a killed node repeats one piece. The last
 * pass over all tables finds no row: one that a request wrote meanwhile is deleted, too.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type AuditContext, recordAudit } from '../../history/audit/store.ts'
import * as store from '../../identity/access/store.ts'
import type { JobAttempt, JobHandler } from '../../platform/jobs/job.ts'
import type { EnqueueJob } from '../../platform/jobs/queue.ts'
import {
  type CustomerPlace,
  CustomerRows,
  type OwnedTable,
  type RowPage,
  type RowPosition,
} from '../../platform/storage/customer-rows.ts'
import type { Database, Reader, Statement } from '../../platform/storage/database.ts'

const JOB = 'delete_customer'
/** A job lasts about this long; its position is stored at its end. */
const PIECE_MS = 5_000
/** Rows that one transaction deletes. */
const SLICE_ROWS = 500
const REST_MIN_MS = 2
/**
 * The pause before the last pass: nodes have ended the credentials (§3.2), and requests that they
 * accepted before have ended.
 */
const SETTLE_MS = 2_500
const TIMEOUT_MS = 120_000
/** An error does not end a deletion. */
const ATTEMPTS = Number.POSITIVE_INFINITY

/** Where rows are: in the engine's database, or in the file of monitoring. */
interface RowPlace extends Reader {
  write(statements: readonly Statement[]): Promise<readonly number[]>
}

interface DeletionDeps {
  readonly db: Database
  readonly audit: AuditContext
  readonly enqueue: EnqueueJob
  /** Lists the tables with rows of customers, those of resources first. */
  readonly listTables: () => Promise<readonly OwnedTable[]>
  readonly monitoring: RowPlace
}

/** The input of a job: the customer, and the position at which the piece begins. */
interface Piece extends CustomerPlace {
  /** The name of a step; undefined: the first. */
  readonly step?: string
  readonly position?: RowPosition
  /** From 0. The pass after one that deleted nothing is the last. */
  readonly pass: number
  /** Rows that this pass has deleted. */
  readonly deleted: number
}

interface DeletionStep {
  readonly name: string
  readonly rows: CustomerRows
  readonly statement: (page: RowPage['rows']) => Statement
  /** Whether its rows are being deleted: the others are counted later. */
  readonly isDeletion: boolean
}

export interface CustomerDeletionJob {
  readonly handler: JobHandler
  /** Enqueues the first piece. */
  begin(tx: Parameters<EnqueueJob>[0], customer: CustomerPlace): Promise<unknown>
}

export function createCustomerDeletion(deps: DeletionDeps): CustomerDeletionJob {
  const { db, enqueue } = deps
  const enqueuePiece = (tx: Parameters<EnqueueJob>[0], piece: Piece) =>
    enqueue(tx, {
      kind: 'deletion',
      name: JOB,
      scope: undefined,
      input: encodePiece(piece),
      rowKey: JOB, // one customer after the other, on all nodes
    })
  const run = async ({ input, signal }: JobAttempt) => {
    const next = await runPiece(deps, decodePiece(input), signal)
    if (next) await db.write((tx) => enqueuePiece(tx, next))
  }
  return {
    handler: { kind: 'deletion', name: JOB, attempts: ATTEMPTS, timeoutMs: TIMEOUT_MS, run },
    begin: (tx, { id, no }) => enqueuePiece(tx, { id, no, pass: 0, deleted: 0 }),
  }
}

async function stepsOf({ db, listTables }: DeletionDeps): Promise<DeletionStep[]> {
  const steps: DeletionStep[] = []
  for (const table of await listTables()) {
    const rows = new CustomerRows(table)
    const { name } = table
    if (table.selfReferences?.length) {
      const statement = (page: RowPage['rows']) => rows.unlinking(page, db.name)
      steps.push({ name: `${name} references`, rows, statement, isDeletion: false })
    }
    const statement = (page: RowPage['rows']) => rows.removal(page, db.name)
    steps.push({ name, rows, statement, isDeletion: true })
  }
  return steps
}

/** Runs one piece. Returns the next one; undefined at the end of the deletion. */
async function runPiece(
  deps: DeletionDeps,
  first: Piece,
  signal: AbortSignal,
): Promise<Piece | undefined> {
  const { clock } = deps.audit
  const steps = await stepsOf(deps)
  const begunMs = clock.elapsedMs()
  let piece = first
  for (;;) {
    const at = steps.findIndex(({ name }) => name === piece.step)
    for (const step of steps.slice(Math.max(0, at))) {
      let position = step.name === piece.step ? piece.position : undefined
      for (position ??= { owner: 0 }; position; ) {
        signal.throwIfAborted()
        if (clock.elapsedMs() - begunMs >= PIECE_MS) return { ...piece, step: step.name, position }
        const slice = await deleteSlice(deps, step, piece, position)
        piece = { ...piece, deleted: piece.deleted + slice.deleted }
        position = slice.next
        await delay(slice.restMs, undefined, { signal })
      }
    }
    if (piece.pass > 0 && piece.deleted === 0) return void (await end(deps, piece))
    if (piece.pass === 0) await delay(SETTLE_MS, undefined, { signal })
    piece = { id: piece.id, no: piece.no, pass: piece.pass + 1, deleted: 0 }
  }
}

/** Bytes of a key in the input of a job. */
const HEX = /^hex:/

const encodePiece = (piece: Piece): string =>
  JSON.stringify(piece, (_, value) =>
    value instanceof Uint8Array ? `hex:${Buffer.from(value).toString('hex')}` : value,
  )

const decodePiece = (text: string): Piece =>
  JSON.parse(text, (_, value) =>
    typeof value === 'string' && HEX.test(value) ? Buffer.from(value.slice(4), 'hex') : value,
  )

/** Deletes a slice of rows, in one transaction with the count of the progress. */
async function deleteSlice(
  { db, monitoring, audit: { clock } }: DeletionDeps,
  { rows, statement, isDeletion }: DeletionStep,
  { id, no }: Piece,
  position: RowPosition,
) {
  const begunMs = clock.elapsedMs()
  const isApart = rows.table.apart === true
  const { rows: page, next } = await rows.page(
    isApart ? monitoring : db,
    { id, no },
    position,
    SLICE_ROWS,
  )
  let deleted = 0
  for (const owned of page.length > 0 ? rows.byOwner(page) : []) {
    const sql = statement(owned)
    if (isApart) deleted += (await monitoring.write([sql]))[0]!
    else {
      deleted += await db.write(async (tx) => {
        const count = await tx.run(sql)
        if (isDeletion && count > 0) await store.countDeleted(tx, no, count)
        return count
      })
    }
  }
  const restMs = Math.max(REST_MIN_MS, clock.elapsedMs() - begunMs)
  return { deleted: isDeletion ? deleted : 0, next, restMs }
}

async function end({ db, audit }: DeletionDeps, { no }: Piece): Promise<void> {
  await db.write(async (tx) => {
    const customer = await store.endDeletion(tx, no)
    if (!customer) return
    const { id: target, deleted_rows: rows } = customer
    const actor = { kind: 'system', id: 'deletion' } as const
    await recordAudit(tx, { actor, action: 'customer.deleted', target, detail: { rows } }, audit)
  })
}
