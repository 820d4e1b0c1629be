/**
 * Deletes the rows of a customer (§18.11): its job walks the tables in slices. The last pass over
 * all tables finds no row: one that a request wrote meanwhile is deleted, too.
 */
import type { ClearingWarrant } from '../../history/audit/chain.ts'
import { type AuditContext, recordAudit } from '../../history/audit/store.ts'
import * as store from '../../identity/access/store.ts'
import { customerNoOf, type Scope, scopesOf } from '../../kernel/principal.ts'
import { Continuation, type JobHandler } from '../../platform/jobs/job.ts'
import type { EnqueueJob } from '../../platform/jobs/queue.ts'
import {
  type CustomerPlace,
  CustomerRows,
  type OwnedTable,
} from '../../platform/storage/customer-rows.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import {
  ATTEMPTS,
  decodeState,
  encodeState,
  LATE_MS,
  LATE_PASS,
  openWarrant,
  type RowPlace,
  TIMEOUT_MS,
  tableSlices,
  type WalkState,
  type WalkStep,
  walkSteps,
} from './slices.ts'

const JOB = 'delete_customer'
/** Deletes the rows of requests that ended after the deletion. */
const LATE_JOB = 'delete_late_rows'
const ACTION = 'customer.delete'

interface DeletionDeps {
  readonly db: Database
  readonly audit: AuditContext
  readonly enqueue: EnqueueJob
  /** Lists the tables with rows of customers, those of resources first. */
  readonly listTables: () => Promise<readonly OwnedTable[]>
  readonly monitoring: RowPlace
}

/** The input of a job. */
interface DeletionInput extends WalkState {
  /** It names the customer. */
  readonly warrant: ClearingWarrant
}

export interface CustomerDeletionJob {
  readonly handlers: readonly JobHandler[]
  /** Enqueues the job; `cause` is the id of the audit row. */
  begin(tx: Tx, customer: CustomerPlace, cause: string): Promise<unknown>
}

export function createCustomerDeletion(deps: DeletionDeps): CustomerDeletionJob {
  const { enqueue } = deps
  const { clock } = deps.audit
  return {
    handlers: [
      lateHandler(deps),
      {
        kind: 'deletion',
        name: JOB,
        attempts: ATTEMPTS,
        timeoutMs: TIMEOUT_MS,
        async run({ input, signal, isAwaited }) {
          const { warrant: stored, ...state } = decodeState<DeletionInput>(input)
          const source = { db: deps.db, trail: deps.audit.trail }
          const warrant = await openWarrant(source, stored, { action: ACTION })
          if (!warrant) return undefined
          const no = customerNoOf(warrant.scopes[0] as Scope)
          const steps = await stepsOf(deps, { id: warrant.target, no }, warrant)
          const next = await walkSteps(steps, state, { clock, signal, isAwaited })
          if (!next) return end(deps, no, warrant)
          return new Continuation(clock.now(), encodeState({ warrant, ...next }))
        },
      },
    ],
    begin(tx, { id: target, no }, cause) {
      const scopes = scopesOf(no)
      const warrant = deps.audit.trail.warrantFor({ action: ACTION, target, scopes, cause })
      return enqueue(tx, {
        kind: 'deletion',
        name: JOB,
        scope: undefined, // the deletion deletes the jobs of the customer
        input: encodeState({ warrant, pass: 0, changed: 0 }),
        rowKey: JOB, // one customer after the other, on all nodes
      })
    },
  }
}

/** Its kind removes the input at the end, so that the id of the customer is not stored longer. */
const lateHandler = (deps: DeletionDeps): JobHandler => ({
  kind: 'erasure',
  name: LATE_JOB,
  attempts: ATTEMPTS,
  timeoutMs: TIMEOUT_MS,
  async run({ input, signal }) {
    const { clock } = deps.audit
    const { warrant, ...state } = decodeState<DeletionInput>(input)
    const customer = { id: warrant.target, no: customerNoOf(warrant.scopes[0] as Scope) }
    const listTables = async () =>
      (await deps.listTables()).filter(({ followsRequests }) => followsRequests)
    const steps = await stepsOf({ ...deps, listTables }, customer, warrant)
    const next = await walkSteps(steps, state, { clock, signal, lastPass: LATE_PASS.pass })
    return next && new Continuation(clock.now(), encodeState({ warrant, ...next }))
  },
})

async function stepsOf(
  { db, audit, monitoring, listTables }: DeletionDeps,
  customer: CustomerPlace,
  warrant: ClearingWarrant,
): Promise<WalkStep[]> {
  const steps: WalkStep[] = []
  const deps = { db, monitoring, trail: audit.trail, warrant }
  for (const table of await listTables()) {
    const rows = new CustomerRows(table)
    const { name, selfReferences = [], followsRequests: isFollowed } = table
    if (selfReferences.length > 0) {
      const unlink = tableSlices(deps, customer, {
        rows,
        statement: (page) => rows.unlinking(page, db.name),
      })
      const slice: WalkStep['slice'] = async (position) => ({
        next: (await unlink(position)).next,
        changed: 0, // the deletion counts them
      })
      steps.push({ name: `${name} references`, slice })
    }
    const slice = tableSlices(deps, customer, {
      rows,
      statement: (page) => rows.removal(page, db.name),
      onChange: (tx, count) => store.countDeleted(tx, customer.no, count),
    })
    steps.push({ name, slice, isFollowed })
  }
  return steps
}

async function end(
  { db, audit, enqueue }: DeletionDeps,
  no: number,
  warrant: ClearingWarrant,
): Promise<void> {
  await db.write(async (tx) => {
    const customer = await store.endDeletion(tx, no)
    if (!customer) return
    const { id: target, deleted_rows: rows } = customer
    const actor = { kind: 'system', id: 'deletion' } as const
    await recordAudit(tx, { actor, action: 'customer.deleted', target, detail: { rows } }, audit)
    await enqueue(tx, {
      kind: 'erasure',
      name: LATE_JOB,
      scope: undefined,
      input: encodeState({ warrant, ...LATE_PASS }),
      runAt: audit.clock.now() + LATE_MS,
    })
  })
}
