/** Whether an attempt runs the code of its job, what it leaves, and its log. */
import type { Clock } from '../../kernel/clock.ts'
import { thrownError } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import type { Random } from '../../kernel/random.ts'
import type { AttemptOutcome, RunningAttempt } from './attempt.ts'
import { type ClaimedJob, type JobHandler, policyOf } from './job.ts'
import { isUnknownOutcome } from './steps.ts'
import type { JobEnd } from './store.ts'

export function endAfter(
  { job, handler }: Pick<RunningAttempt, 'job' | 'handler'>,
  outcome: AttemptOutcome,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): JobEnd {
  if (outcome.kind === 'done') return { state: 'done', error: null }
  if (outcome.kind === 'interrupted') return { state: 'interrupted' }
  if (outcome.kind === 'continued') {
    const { continueAt: runAt, input = job.input } = outcome.rest
    return { state: 'continued', runAt, input }
  }
  const { error, cause } = outcome
  if (job.attempt >= handler.attempts || handler.isFinal?.(cause)) return { state: 'failed', error }
  const chance = random.bytes(4).readUInt32BE() / 2 ** 32
  const delayMs = policyOf(job.kind).retryDelayMs(job.attempt, chance)
  return { state: 'waiting', error, runAt: clock.now() + delayMs }
}

/** A job of a customer whose deletion has begun fails at once (§18.11). */
const ofDeletedCustomer: Pick<JobHandler, 'run' | 'isFinal'> = {
  run: () => Promise.reject(new Error('the customer does not exist')),
  isFinal: () => true,
}

const rejectSpent = () => Promise.reject(new Error('the node ended during the last attempt'))

/**
 * Returns the code of an attempt. A job whose attempts all ended with their node would end every
 * node.
 */
export function handlerFor(job: ClaimedJob, declared: JobHandler): JobHandler {
  const handler = job.scope === null ? { ...declared, ...declared.spread } : declared
  if (job.isDeleted) return { ...handler, ...ofDeletedCustomer }
  return job.attempt > handler.attempts ? { ...handler, run: rejectSpent } : handler
}

/** Logs a failed attempt. After an unknown outcome, an operator must decide: that is an error. */
export function logFailure(log: Log, { kind }: ClaimedJob, line: object, cause: unknown): void {
  if (policyOf(kind).isPersonal) log.warn(line, 'a job failed')
  else {
    const level = isUnknownOutcome(cause) ? 'error' : 'warn'
    log[level]({ ...line, err: thrownError(cause) }, 'a job failed')
  }
}
