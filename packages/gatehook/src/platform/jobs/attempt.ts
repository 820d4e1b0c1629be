/** Runs the code of one attempt within its timeout. Contains no database access. */
import type { Clock } from '../../kernel/clock.ts'
import {
  type ClaimedJob,
  Continuation,
  callerOfJob,
  describeError,
  type JobHandler,
} from './job.ts'

export type AttemptOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'continued'; readonly rest: Continuation }
  | { readonly kind: 'failed'; readonly error: string; readonly cause: unknown }
  /** The node stops. */
  | { readonly kind: 'interrupted' }

export interface RunningAttempt {
  readonly job: ClaimedJob
  readonly handler: JobHandler
  /** Resolves with the outcome; never rejects. */
  readonly outcome: Promise<AttemptOutcome>
  readonly durationMs: () => number
  /** Ends the attempt, which does not count: the node stops. */
  interrupt(): void
  /** Ends the attempt with a failure. */
  abort(reason: string): void
}

class Interruption extends Error {
  override readonly name = 'Interruption'
}

/**
 * Starts an attempt. After the timeout it has failed, even if the handler ignores its signal; the
 * handler can change no rows from then on.
 */
export function startAttempt(handler: JobHandler, job: ClaimedJob, clock: Clock): RunningAttempt {
  const startedMs = clock.elapsedMs()
  const controller = new AbortController()
  const { signal } = controller
  const { timeoutMs, describeError: describe = describeError } = handler
  const timer = setTimeout(() => {
    controller.abort(new Error(`the job exceeded its timeout of ${timeoutMs} ms`))
  }, timeoutMs)
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  const run = async (): Promise<AttemptOutcome> => {
    const { id, scope, customer, input, isAwaited, attempt, node } = job
    const own = { id, scope, customer, input, isAwaited }
    try {
      const code = handler.run({ ...own, caller: callerOfJob(job), attempt, node, signal })
      const rest = await Promise.race([code, aborted])
      if (rest instanceof Continuation) return { kind: 'continued', rest }
      return { kind: 'done' }
    } catch (cause) {
      if (signal.reason instanceof Interruption) return { kind: 'interrupted' }
      return { kind: 'failed', error: describe(cause), cause }
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    job,
    handler,
    outcome: run(),
    durationMs: () => Math.round(clock.elapsedMs() - startedMs),
    interrupt: () => controller.abort(new Interruption('the node stops')),
    abort: (reason) => controller.abort(new Error(reason)),
  }
}
