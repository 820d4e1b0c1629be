/** `/admin/jobs`: the jobs of all customers, and the retry and the end of one of them (§13). */
import { type AuditContext, actorOf, recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import { type Lane, policyOf } from '../../platform/jobs/job.ts'
import { forgetUnknownSteps } from '../../platform/jobs/steps-store.ts'
import * as store from '../../platform/jobs/store.ts'
import type { Database, Reader, Tx } from '../../platform/storage/database.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import type { Perform } from '../../protocol/idempotency/perform.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import { jobOperations, jobTable } from './operations.ts'

interface JobRouteDeps extends AuditContext {
  readonly db: Database
  readonly list: Lister
  readonly perform: Perform
  readonly wake: (lane: Lane) => void
}

export const jobRoutes = ({ db, list, perform, wake, ...audit }: JobRouteDeps): Route[] => [
  implement(jobOperations.list, (call) => list(call, jobTable.collection, jobTable.view)),
  implement(jobOperations.read, async (call) =>
    respond(jobOperations.read, await readJob(db, call.params.id!)),
  ),
  implement(jobOperations.retry, (call, { repeat_steps: repeatsSteps }) =>
    perform(call, async (tx) => {
      const job = await lockJob(tx, call.params.id!)
      if (!RETRYABLE.has(job.state)) {
        throw new Failure('invalid_state', `The job is ${job.state}; failed ones can be retried.`)
      }
      if (job.state !== 'waiting' && policyOf(job.kind).isPersonal) {
        throw new Failure('invalid_state', 'The input of the job was removed at its end.')
      }
      if ((await store.requeueJob(tx, job.no, audit.clock.now())) === 0) {
        throw new Failure('invalid_state', 'The results of the job have expired.')
      }
      if (repeatsSteps) await forgetUnknownSteps(tx, job.id)
      const entry = { actor: actorOf(call), action: 'job.retry', target: job.id } as const
      const detail = { name: job.name, ...(repeatsSteps && { repeat_steps: true }) }
      await recordAudit(tx, { ...entry, detail }, audit)
      tx.afterCommit(() => wake(policyOf(job.kind).lane))
      return respond(jobOperations.retry, await readJob(tx, job.id))
    }),
  ),
  implement(jobOperations.cancel, (call) =>
    perform(call, async (tx) => {
      const job = await lockJob(tx, call.params.id!)
      if (job.state !== 'waiting') {
        throw new Failure('invalid_state', `The job is ${job.state}; waiting ones can be canceled.`)
      }
      const { notCanceled } = policyOf(job.kind)
      if (notCanceled) throw new Failure('invalid_state', notCanceled)
      await store.cancelJob(tx, job, audit.clock.now())
      const entry = { actor: actorOf(call), action: 'job.cancel', target: job.id } as const
      await recordAudit(tx, { ...entry, detail: { name: job.name } }, audit)
      // The next job of the same row is due.
      tx.afterCommit(() => wake(policyOf(job.kind).lane))
      return respond(jobOperations.cancel, await readJob(tx, job.id))
    }),
  ),
]

const RETRYABLE: ReadonlySet<string> = new Set(['failed', 'waiting', 'canceled'])

async function lockJob(tx: Tx, id: string) {
  const job = await store.lockJob(tx, id)
  if (!job) throw new Failure('not_found')
  return job
}

async function readJob(from: Reader, id: string) {
  const job = await jobTable.read(from, id)
  return { ...job, input: JSON.parse(await store.findJobInput(from, id)) as unknown }
}
