/** Joins the declared background work with the engine: the handlers that the runner calls. */
import { envelope } from '../../history/events/event.ts'
import { findEvent, type RecordEvent } from '../../history/events/store.ts'
import { listCustomers } from '../../identity/access/customer-reader.ts'
import { jobGroup } from '../../kernel/caller-group.ts'
import { modeOf, type Principal, type Scope, scopeOf } from '../../kernel/principal.ts'
import type { EventHandlers } from '../../outbound/jobs/event-jobs.ts'
import {
  ATTEMPTS_MAX,
  Continuation,
  type JobAttempt,
  type JobCaller,
  type JobHandler,
} from '../../platform/jobs/job.ts'
import { type EnqueueJob, setJobCaller } from '../../platform/jobs/queue.ts'
import { createEnqueueCustomerRuns } from '../../platform/jobs/recurring.ts'
import {
  dayIn,
  type NextDueTime,
  parseSchedule,
  type RunInput,
} from '../../platform/jobs/schedule.ts'
import { createSteps, isUnknownOutcome } from '../../platform/jobs/steps.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import type { Catalog } from './catalog.ts'
import type { JobDefinition } from './job.ts'
import { createJobInput } from './job-input.ts'
import { ownPrincipalOf } from './own-principal.ts'
import {
  createOwnSteps,
  type OwnStepDeps,
  type OwnSteps,
  type OwnWritingSteps,
  withSteps,
} from './own-steps.ts'
import { type OwnContext, type OwnLog, setWordsOf } from './own-words.ts'
import type { AnyRow } from './resource.ts'
import { listScopes } from './scopes.ts'
import type { ServiceDefinition } from './service.ts'
import { createServiceReader, type ReachOf, withServiceTx } from './service-tx.ts'

interface JobHandlerDeps extends OwnStepDeps {
  readonly record: RecordEvent
  readonly enqueue: EnqueueJob
}

/** Returns the names of the handlers of each event type. */
export function listEventHandlers({ jobs }: ServiceDefinition): EventHandlers {
  const handlers: Record<string, string[]> = {}
  for (const { kind, name, trigger } of jobs) {
    if (kind === 'event') (handlers[trigger!] ??= []).push(name)
  }
  return handlers
}

export const createJobHandlers = (catalog: Catalog, deps: JobHandlerDeps): JobHandler[] =>
  catalog.service.jobs.map((definition) => {
    const { kind, name, attempts, timeoutMs, each } = definition
    const schedule = kind === 'schedule' ? scheduleOf(definition, deps) : undefined
    const run = runners[kind](catalog, definition, deps)
    const spread = schedule && each && spreadOf(name, schedule.next, deps)
    const limits = { attempts, timeoutMs }
    const recurring = { ...(schedule && { schedule }), ...(spread && { spread }) }
    return { kind, name, ...limits, ...recurring, run, isFinal: isUnknownOutcome }
  })

function scheduleOf(
  { trigger = '', timeZone }: JobDefinition,
  { clock }: Pick<JobHandlerDeps, 'clock'>,
) {
  const next = parseSchedule(trigger, clock.now(), timeZone)
  if (typeof next === 'string') throw new Error(next)
  return { expression: [trigger, ...(timeZone ? [timeZone] : [])].join(' '), next }
}

type CreateRun = (
  catalog: Catalog,
  definition: JobDefinition,
  deps: JobHandlerDeps,
) => JobHandler['run']

const runners: Readonly<Record<JobDefinition['kind'], CreateRun>> = {
  job(catalog, { name, input, handle }, deps) {
    const { decode } = createJobInput(name, input)
    const begin = createBegin(catalog, name, deps)
    return async (attempt) => {
      const { steps, context } = begin(attempt)
      await withSteps(steps, () => handle({ ...context, input: decode(attempt.input) }))
    }
  },
  event(catalog, { name, handle }, deps) {
    const begin = createBegin(catalog, name, deps)
    return async (attempt) => {
      const { event_id: id } = JSON.parse(attempt.input) as { event_id: string }
      const { steps, context } = begin(attempt)
      const event = await findEvent(deps.db, attempt.scope!, id)
      if (!event) throw new Error(`the event ${id} was purged`)
      const objectText = catalog.render(event, catalog.newest)
      const received = { event: JSON.parse(envelope(event, objectText)) }
      await withSteps(steps, () => handle({ ...context, ...received }))
    }
  },
  schedule(catalog, { name, handle, timeZone }, deps) {
    const begin = createBegin(catalog, name, deps)
    return async (attempt) => {
      const { due_at: dueAt, missed } = JSON.parse(attempt.input) as RunInput
      const { steps, context, contextIn } = begin(attempt)
      const times = { dueAt, missed, day: dayIn(dueAt, timeZone) }
      const customers = () => iterateCustomers(deps.db, contextIn, steps.steps.signal)
      const all = attempt.scope === null && { customers }
      await withSteps(steps, () => handle({ ...context, ...times, ...all }))
    }
  },
}

/**
 * Returns the code that enqueues the runs of a recurring job for the next customers, once, in one
 * transaction. A customer whose last run has not ended gets none: its end enqueues the next one.
 */
function spreadOf(name: string, next: NextDueTime, deps: JobHandlerDeps): JobHandler['spread'] {
  const { db, clock } = deps
  const enqueueRuns = createEnqueueCustomerRuns(deps, name, next)
  return {
    attempts: ATTEMPTS_MAX,
    timeoutMs: SPREAD_TIMEOUT_MS,
    async run(attempt) {
      const run = JSON.parse(attempt.input) as RunInput
      const { due_at, after = 0 } = run
      const page = await listCustomers(db, after, CUSTOMERS_PER_PAGE)
      const scopes = page.flatMap(({ no }) => MODES.map((mode) => scopeOf(no, mode)))
      await createSteps(deps, attempt).write(`${due_at} after ${after}`, async (tx) => {
        await enqueueRuns(tx, scopes, run)
        return ''
      })
      if (page.length < CUSTOMERS_PER_PAGE) return undefined
      return new Continuation(clock.now(), JSON.stringify({ ...run, after: page.at(-1)!.no }))
    },
  }
}

/** Rows need no recognition: a job has no response. */
const views = { register: (_entry: unknown, row: AnyRow) => row, resourceOf: () => undefined }

interface AttemptWords {
  readonly steps: OwnSteps
  /** The words of the handler, with those of the customer if the job has one. */
  readonly context: AnyRow
  /** Returns the words for a customer and mode of a recurring job. */
  readonly contextIn: (scope: Scope, customer: string) => AnyRow
}

/** Returns the function that creates the words of an attempt at a job. */
function createBegin(catalog: Catalog, name: string, deps: JobHandlerDeps) {
  const scopes = new Set(listScopes(catalog.service))
  const principalIn = (scope: Scope, customer: string): Principal => ({
    customer,
    mode: modeOf(scope),
    scope,
    kind: 'job',
    subject: name,
    scopes,
  })
  return (attempt: JobAttempt): AttemptWords => {
    const { id, attempt: number, scope, customer } = attempt
    const now = deps.clock.now()
    const wordsFor = (principal?: Principal) => ({
      now,
      log: catalog.ownLog(() => {
        const { customer, mode } = principal ?? {}
        return { job: name, job_id: id, attempt: number, customer, mode }
      }),
      ...(principal && { principal: ownPrincipalOf(principal) }),
    })
    const own = scope === null ? undefined : principalIn(scope, customer!)
    const words = wordsFor(own)
    const steps = createOwnSteps(catalog, deps, attempt, { views, words })
    const { signal } = steps.steps
    const caller = own && attempt.caller
    const facts = { id, attempt: number, signal, fetch: steps.fetch }
    const access = (principal: Principal, log: OwnLog, writing: OwnWritingSteps) =>
      createAccess(catalog, deps, { principal, caller, words: { log, signal }, steps, writing })
    return {
      steps,
      context: {
        ...facts,
        ...words,
        step: steps.step,
        ...(own && access(own, words.log, steps)),
      },
      contextIn(scope, customer) {
        const principal = principalIn(scope, customer)
        const words = wordsFor(principal)
        const writing = steps.within(scope, words)
        return { ...facts, ...words, ...access(principal, words.log, writing) }
      },
    }
  }
}

interface AccessParts {
  readonly principal: Principal
  /** The caller of the jobs that its changes enqueue; undefined: the engine. */
  readonly caller: JobCaller | undefined
  readonly words: OwnContext
  readonly steps: OwnSteps
  readonly writing: OwnWritingSteps
}

/** Returns the access of a job to the rows of a customer and mode. */
function createAccess(
  catalog: Catalog,
  { db, record }: JobHandlerDeps,
  { principal, caller, words, steps: { steps, calls, openReads }, writing }: AccessParts,
) {
  const { scope, subject } = principal
  const customer = jobGroup(scope)
  const actor = { kind: 'system', id: `job ${subject}` } as const
  const reach: ReachOf = () => ({ scope, owner: undefined, principal })
  const turns = openReads(scope)
  return {
    read: createServiceReader(catalog, turns, reach, db, views),
    step: writing.step,
    write: calls.track('write', async (name: string | TxCode, code?: TxCode) => {
      const access = { principal, actor, reach, record, views }
      const given = typeof name === 'string' ? code! : name
      const change = (tx: Tx) => {
        if (caller) setJobCaller(tx, caller)
        return withServiceTx(catalog, access, tx, given)
      }
      if (typeof name === 'string') return writing.write(name, change, { customer, scope })
      steps.throwIfEnded()
      return db.write(
        async (tx) => {
          setWordsOf(tx, words)
          const result = await change(tx)
          steps.throwIfEnded()
          return result
        },
        { serializable: true, customer, scope },
      )
    }),
  }
}

type TxCode = (tx: unknown) => Promise<unknown>

const CUSTOMERS_PER_PAGE = 100
const SPREAD_TIMEOUT_MS = 60_000
const MODES = ['live', 'test'] as const

async function* iterateCustomers(
  db: Database,
  contextOf: (scope: Scope, customer: string) => AnyRow,
  signal: AbortSignal,
) {
  for (let after = 0; ; ) {
    const page = await listCustomers(db, after, CUSTOMERS_PER_PAGE)
    for (const { no, id } of page) {
      for (const mode of MODES) {
        signal.throwIfAborted()
        yield contextOf(scopeOf(no, mode), id)
      }
    }
    if (page.length < CUSTOMERS_PER_PAGE) return
    after = page.at(-1)!.no
  }
}
