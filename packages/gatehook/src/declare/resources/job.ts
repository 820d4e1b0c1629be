/**
 * The declaration of background work: `job(name, input)` with `.job(job, handle)`, `.every(…)` and
 * `.on(…)` of a service. Contains no database access.
 */

import type { ServiceJobKind } from '../../platform/jobs/job.ts'
import { reportMistakes } from '../../protocol/fields/declaration-mistakes.ts'
import type { Fields, RowOf } from '../../protocol/fields/fields.ts'
import { isPlainObject } from '../../protocol/fields/reading.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import type { OwnPrincipal } from './own-principal.ts'
import type { OwnContext } from './own-words.ts'
import type { AnyRow } from './resource.ts'
import type { RunStep, ServiceReader, ServiceTx, StepEffect } from './service-access.ts'

/** A job that own code enqueues. */
export class Job<I extends Fields> {
  readonly name: string
  readonly fields: I

  constructor(name: string, fields: I) {
    this.name = name
    this.fields = fields
  }
}

// biome-ignore lint/complexity/noBannedTypes: a job without input has no fields
type NoFields = {}

/**
 * Declares a job by its name and the fields of its input. `tx.enqueue(job, input)` enqueues it, and
 * `.job(job, handle)` of the service has its code.
 *
 * @example
 * export const sendReceipt = job('send_receipt', { order_id: f.int() })
 */
export function job<const I extends Fields = NoFields>(name: string, input?: I): Job<I> {
  if (input === undefined) return new Job(name, {} as I)
  const isFields = isPlainObject(input)
  if (!isFields) reportMistakes([`job ${String(name)}: input is an object of fields`])
  return new Job(name, isFields ? input : ({} as I))
}

export interface JobOptions {
  /** Attempts until the job has failed: 1 to 25. Default: 10; 3 for `.every()`. */
  readonly attempts?: number
  /** The longest run in milliseconds, up to one hour. Default: 60,000. */
  readonly timeoutMs?: number
}

export interface HandlerOptions extends JobOptions {
  /** The name of the job. Default: the event type. A second handler of a type needs one. */
  readonly name?: string
}

export interface ScheduleOptions<A = 'customer' | undefined> extends JobOptions {
  /** The zone of a cron expression and of `day`: `Europe/Berlin`. Default: UTC. */
  readonly timeZone?: string
  /**
   * `customer`: the handler runs for every customer and mode, with its `read` and `write`. Each run
   * has its own attempts and time limit, so that the failure of one stops no other.
   */
  readonly each?: A
}

/** Its `signal` aborts after the timeout and when the node stops. */
interface AttemptContext extends OwnContext {
  /** The id of the job, the same at each attempt: `job_…`. */
  readonly id: string
  /** The number of the attempt, from 1. */
  readonly attempt: number
  /** The beginning of the attempt in epoch milliseconds, by the clock of the engine. */
  readonly now: number
  /** `fetch` to allowed addresses (§9.9), which ends with `signal`. It runs in every attempt. */
  readonly fetch: typeof fetch
}

interface CustomerContext {
  /** The customer and mode of the job, as the caller of own code: its kind is `job`. */
  readonly principal: OwnPrincipal
  /** Reads every row of the customer and mode, and SQL. */
  readonly read: ServiceReader
  /**
   * Runs changes in one serializable transaction. A conflict runs `change` again, so it must not
   * have side effects outside the database. It rejects once the signal has aborted.
   */
  write<T>(change: (tx: ServiceTx) => Promise<T>): Promise<T>
  /** The same as a step: its changes and its result commit together, and once (§15.6). */
  write<T>(name: string, change: (tx: ServiceTx) => Promise<T>): Promise<T>
  /**
   * Runs code that may use the network, and stores its result (§15.6): JSON of at most 64 KiB, or a
   * `Failure` below 500. A later attempt receives the result and does not run the code again. An
   * attempt that ended meanwhile repeats it with the same `key`. Names are unique in an attempt.
   */
  readonly step: RunStep
}

/** The arguments of a handler of `.job(job, handle)`. */
export interface JobContext<I extends Fields> extends AttemptContext, CustomerContext {
  /** The validated input. */
  readonly input: RowOf<I>
}

/** The arguments of a handler of `.on(type, handle)`. */
export interface EventContext<O = AnyRow> extends AttemptContext, CustomerContext {
  /** The event, as webhooks deliver it, in the newest version. */
  readonly event: JobEvent<O>
}

/** An event in the newest version. */
interface JobEvent<O> {
  readonly id: string
  readonly type: string
  /** Unix seconds. */
  readonly created: number
  readonly livemode: boolean
  readonly data: { readonly object: O }
}

interface DueTimes {
  /** The latest due time that has passed, as epoch milliseconds. */
  readonly dueAt: number
  /**
   * The number of earlier due times that had no run of their own: no node ran then, or the last run
   * had not ended. At most 100,000.
   */
  readonly missed: number
  /** The date of `dueAt` in the time zone of the schedule: `2026-11-29`. */
  readonly day: string
}

/** The arguments of a handler of `.every(…, { each: 'customer' })`. */
export interface CustomerScheduleContext extends AttemptContext, CustomerContext, DueTimes {}

/** The arguments of a handler of `.every(schedule, name, handle)`. */
export interface ScheduleContext extends AttemptContext, DueTimes {
  /** A step of no customer. */
  readonly step: RunStep<Omit<StepEffect, 'principal'>>
  /** Yields each customer in each mode, with access to its rows. */
  customers(): AsyncIterable<AttemptContext & CustomerContext>
}

type Handle<C> = (context: C) => Promise<unknown> | unknown

export type JobHandle<I extends Fields> = Handle<JobContext<I>>
export type EventHandle<O = AnyRow> = Handle<EventContext<O>>
/** @typeParam A whether each customer and mode has its own run */
export type ScheduleHandle<A> = Handle<
  A extends 'customer' ? CustomerScheduleContext : ScheduleContext
>

/** A declared job, handler of an event or recurring job, without type parameters. */
export interface JobDefinition {
  readonly kind: ServiceJobKind
  readonly name: string
  /** The input of a `job`. */
  readonly input: FieldSpecs
  /** The event type of an `event`, the expression of a `schedule`. */
  readonly trigger?: string
  /** Of a `schedule`. */
  readonly timeZone?: string | undefined
  readonly each?: string | undefined
  readonly attempts: number
  readonly timeoutMs: number
  readonly handle: Handle<AnyRow>
}

const DEFAULT_ATTEMPTS = 10
const DEFAULT_SCHEDULE_ATTEMPTS = 3
const DEFAULT_TIMEOUT_MS = 60_000

function limitsOf(kind: ServiceJobKind, { attempts, timeoutMs }: JobOptions) {
  const defaultAttempts = kind === 'schedule' ? DEFAULT_SCHEDULE_ATTEMPTS : DEFAULT_ATTEMPTS
  return { attempts: attempts ?? defaultAttempts, timeoutMs: timeoutMs ?? DEFAULT_TIMEOUT_MS }
}

export const defineJob = (
  { name, fields }: { readonly name: string; readonly fields: Fields },
  handle: unknown,
  options: JobOptions = {},
): JobDefinition => ({
  kind: 'job',
  name,
  input: Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field?.spec])),
  ...limitsOf('job', options),
  handle: handle as JobDefinition['handle'],
})

export const defineSchedule = (
  expression: string,
  name: string,
  handle: unknown,
  options: ScheduleOptions = {},
): JobDefinition => ({
  kind: 'schedule',
  name,
  input: {},
  trigger: expression,
  timeZone: options.timeZone,
  each: options.each,
  ...limitsOf('schedule', options),
  handle: handle as JobDefinition['handle'],
})

export const defineEventHandler = (
  type: string,
  handle: unknown,
  { name = type, ...options }: HandlerOptions = {},
): JobDefinition => ({
  kind: 'event',
  name,
  input: {},
  trigger: type,
  ...limitsOf('event', options),
  handle: handle as JobDefinition['handle'],
})
