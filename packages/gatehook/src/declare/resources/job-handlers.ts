/** Joins the declared background work with the engine: the handlers that the runner calls. */
import { envelope } from '../../history/events/event.ts'
import { findEvent, type RecordEvent } from '../../history/events/store.ts'
import { listCustomers } from '../../identity/access/customer-reader.ts'
import { modeOf, type Principal, type Scope, scopeOf } from '../../kernel/principal.ts'
import type { EventHandlers } from '../../outbound/jobs/event-jobs.ts'
import type { JobAttempt, JobHandler } from '../../platform/jobs/job.ts'
import { setJobCaller } from '../../platform/jobs/queue.ts'
import { parseSchedule, type RunInput } from '../../platform/jobs/schedule.ts'
import { isUnknownOutcome } from '../../platform/jobs/steps.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import type { Catalog } from './catalog.ts'
import type { JobDefinition } from './job.ts'
import { createJobInput } from './job-input.ts'
import { ownPrincipalOf } from './own-principal.ts'
import { createOwnSteps, type OwnStepDeps, type OwnSteps, withSteps } from './own-steps.ts'
import type { AnyRow } from './resource.ts'
import { listScopes } from './scopes.ts'
import type { ServiceDefinition } from './service.ts'
import { createServiceReader, createServiceTx, type ReachOf } from './service-tx.ts'

interface JobHandlerDeps extends OwnStepDeps {
  readonly record: RecordEvent
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
    const { kind, name, attempts, timeoutMs } = definition
    const schedule = kind === 'schedule' && { schedule: scheduleOf(definition, deps) }
    const run = runners[kind](catalog, definition, deps)
    return { kind, name, attempts, timeoutMs, ...schedule, run, isFinal: isUnknownOutcome }
  })

function scheduleOf({ trigger = '' }: JobDefinition, { clock }: Pick<JobHandlerDeps, 'clock'>) {
  const next = parseSchedule(trigger, clock.now())
  if (typeof next === 'string') throw new Error(next)
  return { expression: trigger, next }
}

type CreateRun = (
  catalog: Catalog,
  definition: JobDefinition,
  deps: JobHandlerDeps,
) => JobHandler['run']

const runners: Readonly<Record<JobDefinition['kind'], CreateRun>> = {
  job(catalog, { name, input, handle }, deps) {
    const { decode } = createJobInput(name, input)
    const contextOf = createContexts(catalog, name, deps)
    return async (attempt) => {
      const steps = stepsOf(catalog, attempt, deps)
      const context = contextOf(attempt.scope!, attempt.customer!, steps, attempt)
      const facts = factsOf(attempt, steps, deps)
      await withSteps(steps, () => handle({ ...context, ...facts, input: decode(attempt.input) }))
    }
  },
  event(catalog, { name, handle }, deps) {
    const contextOf = createContexts(catalog, name, deps)
    return async (attempt) => {
      const { event_id: id } = JSON.parse(attempt.input) as { event_id: string }
      const steps = stepsOf(catalog, attempt, deps)
      const context = contextOf(attempt.scope!, attempt.customer!, steps, attempt)
      const event = await findEvent(deps.db, attempt.scope!, id)
      if (!event) throw new Error(`the event ${id} was purged`)
      const objectText = catalog.render(event, catalog.newest)
      const received = { event: JSON.parse(envelope(event, objectText)) }
      const facts = factsOf(attempt, steps, deps)
      await withSteps(steps, () => handle({ ...context, ...facts, ...received }))
    }
  },
  schedule(catalog, { name, handle }, deps) {
    const contextOf = createContexts(catalog, name, deps)
    return async (attempt) => {
      const { due_at: dueAt, missed } = JSON.parse(attempt.input) as RunInput
      const steps = stepsOf(catalog, attempt, deps)
      const { step } = steps
      const contextIn = (scope: Scope, customer: string) =>
        contextOf(scope, customer, { ...steps, ...steps.within(scope) })
      const customers = () => iterateCustomers(deps.db, contextIn, steps.steps.signal)
      const facts = factsOf(attempt, steps, deps)
      await withSteps(steps, () => handle({ ...facts, dueAt, missed, customers, step }))
    }
  },
}

const factsOf = (
  { id, attempt }: JobAttempt,
  { steps: { signal } }: OwnSteps,
  { clock }: JobHandlerDeps,
) => ({ id, attempt, signal, now: clock.now() })

/** Rows need no recognition: a job has no response. */
const views = { register: (_entry: unknown, row: AnyRow) => row, resourceOf: () => undefined }

const stepsOf = (catalog: Catalog, attempt: JobAttempt, deps: JobHandlerDeps): OwnSteps =>
  createOwnSteps(catalog, deps, attempt, { views })

type ContextOf = (
  scope: Scope,
  customer: string,
  steps: Pick<OwnSteps, 'steps' | 'step' | 'write'>,
  /** The attempt at a job of this customer. */
  cause?: JobAttempt,
) => AnyRow

/** Returns the access of a job to the rows of a customer and mode. */
function createContexts(catalog: Catalog, name: string, { db, record }: JobHandlerDeps): ContextOf {
  const scopes = new Set(listScopes(catalog.service))
  const actor = { kind: 'system', id: `job ${name}` } as const
  return (scope, customer, { steps, step, write }, cause) => {
    const mode = modeOf(scope)
    const principal: Principal = { customer, mode, scope, kind: 'job', subject: name, scopes }
    const reach: ReachOf = () => ({ scope, owner: undefined, principal })
    return {
      principal: ownPrincipalOf(principal),
      read: createServiceReader(catalog, reach, db, views),
      step,
      async write(name: string | TxCode, code?: TxCode) {
        const access = { principal, actor, reach, record, views }
        const given = typeof name === 'string' ? code! : name
        const change = (tx: Tx) => {
          if (cause) setJobCaller(tx, cause.caller)
          return given(createServiceTx(catalog, access, tx))
        }
        if (typeof name === 'string') return write(name, change, { customer })
        steps.throwIfEnded()
        return db.write(
          async (tx) => {
            const result = await change(tx)
            steps.throwIfEnded()
            return result
          },
          { serializable: true, customer },
        )
      },
    }
  }
}

type TxCode = (tx: unknown) => Promise<unknown>

const CUSTOMERS_PER_PAGE = 100

async function* iterateCustomers(
  db: Database,
  contextOf: (scope: Scope, customer: string) => AnyRow,
  signal: AbortSignal,
) {
  for (let after = 0; ; ) {
    const page = await listCustomers(db, after, CUSTOMERS_PER_PAGE)
    for (const { no, id } of page) {
      for (const mode of ['live', 'test'] as const) {
        signal.throwIfAborted()
        yield contextOf(scopeOf(no, mode), id)
      }
    }
    if (page.length < CUSTOMERS_PER_PAGE) return
    after = page.at(-1)!.no
  }
}
