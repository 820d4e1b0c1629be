/** A job of the team's code: its row, the code that runs it, and its retries. Pure. */
import type { Scope } from '../../kernel/principal.ts'
import type { NextDueTime } from './schedule.ts'

/** `job`: enqueued by code; `event`: a handler of an event; `schedule`: a recurring job. */
export const JOB_KINDS = ['job', 'event', 'schedule'] as const
export type JobKind = (typeof JOB_KINDS)[number]

export const JOB_STATES = ['waiting', 'running', 'done', 'failed', 'canceled'] as const

export const ATTEMPTS_MAX = 25
export const TIMEOUT_MAX_MS = 3_600_000
/** The largest input as JSON. */
export const INPUT_MAX_BYTES = 65_536

/** A job that is to be stored. */
export interface NewJob {
  readonly kind: JobKind
  readonly name: string
  /** Undefined for a recurring job, which belongs to no customer. */
  readonly scope: Scope | undefined
  /** JSON text. */
  readonly input: string
  /** Epoch milliseconds; default: now. */
  readonly runAt?: number | undefined
  /** Jobs with the same key run one after the other. */
  readonly rowKey?: string | undefined
  /** The name of a recurring job, of which one run waits. */
  readonly schedule?: string | undefined
}

/** A job that this node runs. */
export interface ClaimedJob {
  readonly no: number
  readonly id: string
  readonly name: string
  readonly scope: Scope | null
  /** The id of its customer. */
  readonly customer: string | null
  readonly input: string
  /** From 1. */
  readonly attempt: number
  readonly schedule: string | null
}

/** An attempt at a job, as its handler receives it. */
export interface JobAttempt extends Pick<ClaimedJob, 'id' | 'scope' | 'customer' | 'input'> {
  readonly attempt: number
  /** Aborts after the timeout, and when the node stops or has lost the job. */
  readonly signal: AbortSignal
}

/** The code of a job, and the limits of a run. */
export interface JobHandler {
  readonly kind: JobKind
  readonly name: string
  readonly attempts: number
  readonly timeoutMs: number
  /** The due times of a recurring job. */
  readonly schedule?: { readonly expression: string; readonly next: NextDueTime }
  readonly run: (attempt: JobAttempt) => Promise<void>
}

const RETRY_FIRST_MS = 5_000
const RETRY_FACTOR = 3
const RETRY_MAX_MS = 3_600_000
/** A delay is up to this share shorter or longer, so that retries of an outage spread out. */
const JITTER = 0.2

/**
 * Returns the delay before the attempt after attempt `n`: 5 s, 15 s, 45 s, … up to one hour.
 *
 * @param chance from 0 up to 1
 */
export function retryDelayMs(n: number, chance: number): number {
  const delayMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * RETRY_FACTOR ** (n - 1))
  return Math.round(delayMs * (1 - JITTER + 2 * JITTER * chance))
}

const ERROR_MAX = 1_000

/** Returns the message of an error for the list of jobs. */
export function describeError(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return text.toWellFormed().replaceAll('\0', '').slice(0, ERROR_MAX).toWellFormed()
}
