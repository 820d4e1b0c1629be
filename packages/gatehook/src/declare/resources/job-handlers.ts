/** Joins the declared background work with the engine: the handlers that the runner calls. */
import { envelope } from '../../history/events/event.ts'
import { findEvent, type RecordEvent } from '../../history/events/store.ts'
import { listCustomers } from '../../identity/access/customer-reader.ts'
import type { Clock } from '../../kernel/clock.ts'
import { modeOf, type Principal, type Scope, scopeOf } from '../../kernel/principal.ts'
import type { EventHandlers } from '../../outbound/jobs/event-jobs.ts'
import type { JobAttempt, JobHandler } from '../../platform/jobs/job.ts'
import { parseSchedule, type RunInput } from '../../platform/jobs/schedule.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { Catalog } from './catalog.ts'
import type { JobDefinition } from './job.ts'
import { createJobInput } from './job-input.ts'
import { ownPrincipalOf } from './own-principal.ts'
import type { AnyRow } from './resource.ts'
import { listScopes } from './scopes.ts'
import type { ServiceDefinition } from './service.ts'
import { createServiceReader, createServiceTx, type ReachOf } from './service-tx.ts'

interface JobHandlerDeps {
  readonly db: Database
  readonly clock: Clock
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
    const schedule = kind === 'schedule' && { schedule: scheduleOf(definition, deps.clock) }
    const run = runners[kind](catalog, definition, deps)
    return { kind, name, attempts, timeoutMs, ...schedule, run }
  })

function scheduleOf({ trigger = '' }: JobDefinition, clock: Clock) {
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
      const context = contextOf(attempt.scope!, attempt.customer!, attempt.signal)
      await handle({ ...context, ...factsOf(attempt, deps), input: decode(attempt.input) })
    }
  },
  event(catalog, { name, handle }, deps) {
    const contextOf = createContexts(catalog, name, deps)
    return async (attempt) => {
      const { event_id: id } = JSON.parse(attempt.input) as { event_id: string }
      const context = contextOf(attempt.scope!, attempt.customer!, attempt.signal)
      const event = await findEvent(deps.db, attempt.scope!, id)
      if (!event) throw new Error(`the event ${id} was purged`)
      const objectText = catalog.render(event, catalog.newest)
      await handle({
        ...context,
        ...factsOf(attempt, deps),
        event: JSON.parse(envelope(event, objectText)),
      })
    }
  },
  schedule(catalog, { name, handle }, deps) {
    const contextOf = createContexts(catalog, name, deps)
    return async (attempt) => {
      const { due_at: dueAt, missed } = JSON.parse(attempt.input) as RunInput
      const customers = () => iterateCustomers(deps.db, contextOf, attempt.signal)
      await handle({ ...factsOf(attempt, deps), dueAt, missed, customers })
    }
  },
}

const factsOf = ({ id, attempt, signal }: JobAttempt, { clock }: JobHandlerDeps) => ({
  id,
  attempt,
  signal,
  now: clock.now(),
})

type ContextOf = (scope: Scope, customer: string, signal: AbortSignal) => AnyRow

/** Returns the access of a job to the rows of a customer and mode. */
function createContexts(catalog: Catalog, name: string, { db, record }: JobHandlerDeps): ContextOf {
  const scopes = new Set(listScopes(catalog.service))
  const actor = { kind: 'system', id: `job ${name}` } as const
  const views = { register: (_entry: unknown, row: AnyRow) => row }
  return (scope, customer, signal) => {
    const mode = modeOf(scope)
    const principal: Principal = { customer, mode, scope, kind: 'job', subject: name, scopes }
    const reach: ReachOf = () => ({ scope, owner: undefined, principal })
    return {
      principal: ownPrincipalOf(principal),
      read: createServiceReader(catalog, reach, db, views),
      async write(change: (tx: unknown) => Promise<unknown>) {
        signal.throwIfAborted()
        return db.write(
          async (tx) => {
            const access = { principal, actor, reach, record, views }
            const result = await change(createServiceTx(catalog, access, tx))
            signal.throwIfAborted()
            return result
          },
          { serializable: true, customer },
        )
      },
    }
  }
}

const CUSTOMERS_PER_PAGE = 100

async function* iterateCustomers(db: Database, contextOf: ContextOf, signal: AbortSignal) {
  for (let after = 0; ; ) {
    const page = await listCustomers(db, after, CUSTOMERS_PER_PAGE)
    for (const { no, id } of page) {
      for (const mode of ['live', 'test'] as const) {
        signal.throwIfAborted()
        yield contextOf(scopeOf(no, mode), id, signal)
      }
    }
    if (page.length < CUSTOMERS_PER_PAGE) return
    after = page.at(-1)!.no
  }
}
