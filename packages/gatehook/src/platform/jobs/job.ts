/** A job: its row, the policy of its kind, and the code that runs it. Pure. */
import { describeThrown } from '../../kernel/failure.ts'
import { callerName, type Principal, type Scope } from '../../kernel/principal.ts'
import type { NextDueTime } from './schedule.ts'

/**
 * Lanes, each with the number of jobs that a node runs at the same time. Jobs of one lane never
 * wait for those of another.
 */
export const LANES = {
  service: 10,
  request: 10,
  mail: 5,
  stranger_mail: 5,
  replay: 10,
  deletion: 1,
  fill: 1,
  index: 1,
} as const
export type Lane = keyof typeof LANES

/** The policy of the jobs of a kind. */
export interface JobPolicy {
  readonly lane: Lane
  /** How long a row stays after its end; 0: the end deletes it. */
  readonly doneForMs: number
  readonly failedForMs: number
  /** Its input and its errors concern a person: the end removes the input, and no log has them. */
  readonly isPersonal?: true
  /** Why operators cannot cancel it. */
  readonly notCanceled?: string
  /**
   * Returns the delay before the attempt after attempt `n`.
   *
   * @param chance from 0 up to 1
   */
  readonly retryDelayMs: (n: number, chance: number) => number
}

const DAY_MS = 86_400_000
/** A done run of a recurring job for a customer; its due time stays in `gh_served_times`. */
export const DONE_CUSTOMER_RUN_MS = 600_000

/** Returns delays that grow by a factor, each up to a fifth shorter or longer (`JITTER`). */
const growing =
  (firstMs: number, factor: number, maxMs: number) =>
  (n: number, chance: number): number =>
    Math.round(Math.min(maxMs, firstMs * factor ** (n - 1)) * (1 - JITTER + 2 * JITTER * chance))

/** A delay is up to this share shorter or longer, so that retries of an outage spread out. */
const JITTER = 0.2

/** 5 s, 15 s, 45 s, … up to one hour. */
const retryDelayMs = growing(5_000, 3, 3_600_000)
const MAIL_RETRY_MAX_MS = 2 * 3_600_000
/** The longest delay of a retry, of any kind. */
export const LONGEST_RETRY_MS = MAIL_RETRY_MAX_MS * (1 + JITTER)

const ofService: JobPolicy = {
  lane: 'service',
  doneForMs: DAY_MS,
  failedForMs: 30 * DAY_MS,
  retryDelayMs,
}

const ofDeletion: JobPolicy = {
  ...ofService,
  lane: 'deletion',
  retryDelayMs: growing(1_000, 2, 60_000),
  notCanceled: 'A deletion cannot be undone.',
}

const ofMail = {
  lane: 'mail',
  doneForMs: 0,
  failedForMs: 7 * DAY_MS,
  isPersonal: true,
  /** 30 s, 2 min, 8 min, … up to two hours. */
  retryDelayMs: growing(30_000, 4, MAIL_RETRY_MAX_MS),
} as const

/**
 * The kinds of jobs. Of the service's code: `job` (enqueued by code), `event` (handles an event),
 * `schedule` (recurs), `request` (a request whose route has steps). Of the engine: `mail` (to
 * accounts), `stranger_mail` (that clients without an account cause), `replay` (replays and
 * recoveries of a customer), `deletion` (of a customer), `erasure` (of a person), `fill` (of rows
 * that nodes of another declaration wrote), and `index` (of a table in use).
 */
const KINDS = {
  job: ofService,
  event: ofService,
  schedule: {
    ...ofService,
    notCanceled: 'A recurring job ends when its declaration is removed.',
  },
  request: {
    ...ofService,
    lane: 'request',
    /** As long as the results of its steps answer repeats (§15.6). */
    failedForMs: DAY_MS,
    notCanceled: 'The engine finishes a request whose steps have begun.',
  },
  mail: ofMail,
  stranger_mail: { ...ofMail, lane: 'stranger_mail' },
  replay: {
    ...ofService,
    lane: 'replay',
    /** 1 s, 2 s, 4 s, … up to a minute. */
    retryDelayMs: growing(1_000, 2, 60_000),
    /** The registration returns the state of its replay. */
    doneForMs: 0,
    notCanceled: 'DELETE /webhooks/{id}/replay stops a replay.',
  },
  deletion: ofDeletion,
  /** Its input has values of the person, in which it finds their other occurrences. */
  erasure: { ...ofDeletion, isPersonal: true },
  fill: { ...ofService, lane: 'fill', notCanceled: 'Its rows would lack their values.' },
  index: { ...ofService, lane: 'index' },
} as const satisfies Readonly<Record<string, JobPolicy>>

export type JobKind = keyof typeof KINDS
export const MAIL_KINDS = ['mail', 'stranger_mail'] as const satisfies readonly JobKind[]
export type MailKind = (typeof MAIL_KINDS)[number]
/** Kinds of jobs that the service declares. */
export type ServiceJobKind = 'job' | 'event' | 'schedule'
export const JOB_KINDS = Object.keys(KINDS) as [JobKind, ...JobKind[]]
export const policyOf = (kind: JobKind): JobPolicy => KINDS[kind]
/** Whether the inputs of a lane's jobs concern persons. */
export const isPersonalLane = (lane: Lane): boolean =>
  JOB_KINDS.map(policyOf).some((policy) => policy.lane === lane && policy.isPersonal)

export const JOB_STATES = ['waiting', 'running', 'done', 'failed', 'canceled'] as const

export const ATTEMPTS_MAX = 25
export const TIMEOUT_MAX_MS = 3_600_000
/** The largest input as JSON. */
export const INPUT_MAX_BYTES = 65_536

/** A caller, for the turns of its jobs among those of its customer and mode (decision 0084). */
export interface JobCaller {
  readonly name: string
  /** Persons and unauthenticated clients take turns apart from programs. */
  readonly isPerson: boolean
}

/** The caller of jobs that no request causes. */
export const ENGINE: JobCaller = { name: 'engine', isPerson: false }

/** Returns the caller of the jobs that a request of a principal causes. */
export function jobCallerOf(principal: Principal): JobCaller {
  const actor = principal.caller ?? principal
  return { name: callerName(actor), isPerson: actor.kind === 'person' }
}

/** A job that is to be stored. */
export interface NewJob {
  readonly kind: JobKind
  readonly name: string
  /** Undefined for a recurring job, which belongs to no customer. */
  readonly scope: Scope | undefined
  /** The id of the person whose request enqueued it. */
  readonly subject?: string | undefined
  /** Default: that of the transaction. */
  readonly caller?: JobCaller | undefined
  /** JSON text. */
  readonly input: string
  /** Epoch milliseconds; default: now. */
  readonly runAt?: number | undefined
  /** Jobs with the same key run one after the other. */
  readonly rowKey?: string | undefined
  /** A waiting job with the same key and input does its work, too: no further one is stored. */
  readonly isMerged?: true
  /** Whether a waiting job with this input does the same. Default: with an equal one. */
  readonly isSameWork?: (input: string) => boolean
  /** The name of a recurring job, or of its run for a customer and mode, of which one waits. */
  readonly schedule?: string | undefined
}

/** A job whose time has come. */
export interface DueJob {
  readonly no: number
  readonly id: string
  readonly kind: JobKind
  readonly name: string
  readonly scope: Scope | null
  readonly row_key: string | null
  readonly input: string
  /** From 1. */
  readonly attempt: number
  readonly schedule: string | null
  /** The persons or the programs of a customer and mode. */
  readonly caller_group: number
  /** The name of its caller. */
  readonly caller: string
}

/** Returns the group of a caller: twice the scope, plus 1 for persons. */
export const groupOf = (scope: Scope | null | undefined, { isPerson }: JobCaller): number =>
  (scope ?? 0) * 2 + (isPerson ? 1 : 0)

/** Returns the caller of a job, for the jobs that it enqueues. */
export const callerOfJob = ({
  caller_group,
  caller,
}: Pick<DueJob, 'caller_group' | 'caller'>): JobCaller => ({
  name: caller,
  isPerson: caller_group % 2 === 1,
})

/** Whether a job is the run of a recurring job for a customer and mode: these are many. */
export const isCustomerRun = ({ kind, scope }: Pick<DueJob, 'kind' | 'scope'>): boolean =>
  kind === 'schedule' && scope !== null

/** A customer, as far as its jobs need it. */
export interface JobCustomer {
  readonly id: string
  /** Since when its rows are being deleted; null otherwise. */
  readonly deleting_since: number | null
}

/** A job that this node runs. */
export interface ClaimedJob extends DueJob {
  /** The id of its customer; undefined: it belongs to none. */
  readonly customer: string | undefined
  /** Whether the rows of its customer are being deleted, or are gone. */
  readonly isDeleted: boolean
  /** The run of the process that runs it. */
  readonly node: string
  /** Whether a program without background work waits for its end: the job rests for no other. */
  readonly isAwaited?: boolean | undefined
}

/** An attempt at a job, as its handler receives it. */
export interface JobAttempt
  extends Pick<ClaimedJob, 'id' | 'scope' | 'customer' | 'input' | 'isAwaited'> {
  /** The caller of the jobs that it enqueues. */
  readonly caller: JobCaller
  readonly attempt: number
  /** The run of the process that runs it. */
  readonly node: string
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
  /** The engine's code, with its limits, that enqueues the runs of a recurring job's customers. */
  readonly spread?: Pick<JobHandler, 'attempts' | 'timeoutMs' | 'run'>
  /** A `Continuation` has the time of the next attempt; any other result ends the job. */
  readonly run: (attempt: JobAttempt) => Promise<unknown>
  /** Whether an attempt that failed with this error is the last one. */
  readonly isFinal?: (error: unknown) => boolean
  /** Returns the message of an error for the list of jobs. Default: its name and message. */
  readonly describeError?: (error: unknown) => string
}

/** The result of a run that has done a part of its work. */
export class Continuation {
  readonly continueAt: number
  readonly input: string | undefined

  /**
   * @param continueAt epoch milliseconds, rounded up to the whole number that a column stores
   * @param input JSON text, the input of the next run; default: that of this one
   */
  constructor(continueAt: number, input?: string) {
    this.continueAt = Math.ceil(continueAt)
    this.input = input
  }
}

const ERROR_MAX = 1_000

/** Returns the message of an error for the list of jobs. */
export function describeError(error: unknown): string {
  return describeThrown(error)
    .toWellFormed()
    .replaceAll('\0', '')
    .slice(0, ERROR_MAX)
    .toWellFormed()
}
