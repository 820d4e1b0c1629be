/**
 * Routes with steps (§15.6): the jobs of their requests. The first attempt runs while the caller
 * waits (`step-answers.ts`); the engine continues a job when an attempt ends without a response.
 */
import { actorOf } from '../../history/audit/store.ts'
import type { RecordEvent } from '../../history/events/store.ts'
import { Failure } from '../../kernel/failure.ts'
import { isoTime } from '../../kernel/time.ts'
import type { JobHandler } from '../../platform/jobs/job.ts'
import { isUnknownOutcome } from '../../platform/jobs/steps.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { requireAnswerFits } from '../../protocol/http/answer-budget.ts'
import type { Call } from '../../protocol/http/call.ts'
import { ownerOfPrincipal } from '../../protocol/http/owner.ts'
import {
  failureOutcome,
  type RequestOutcome,
  rightsOf,
  type StoredOutcome,
  writeOutcome,
} from '../../protocol/idempotency/outcome.ts'
import { setRequestOf } from '../../protocol/idempotency/transaction-request.ts'
import { inCallersTerms } from './caller-terms.ts'
import type { Catalog } from './catalog.ts'
import { ownPrincipalOf } from './own-principal.ts'
import { createOwnSteps, type OwnStepDeps, type OwnSteps, withSteps } from './own-steps.ts'
import { factsOfCall } from './own-words.ts'
import type { AnyResult, RouteDefinition } from './route.ts'
import { createRouteReader } from './route-input.ts'
import { createOutputEncoder, limitsOfRoute } from './route-output.ts'
import { createRowViews, type RowViews } from './row-views.ts'
import { callersReach, createServiceReader, withServiceTx } from './service-tx.ts'
import type { StoredRequest, StoredRequests } from './stored-requests.ts'

/** The attempts of a request. */
export const REQUEST_ATTEMPTS = 10
const STEPS_TIMEOUT_MS = 25_000

export interface StepRouteDeps extends OwnStepDeps {
  readonly record: RecordEvent
  readonly requests: StoredRequests
  /** The requests that this node has received and whose first attempt it begins, by job. */
  readonly received: Map<string, StoredRequest>
}

export const jobNameOf = ({ method, path }: RouteDefinition): string => `${method} ${path}`

/** Returns the job of the requests to a route. */
export function createRequestJob(
  catalog: Catalog,
  deps: StepRouteDeps,
  route: RouteDefinition,
): JobHandler {
  const readRequest = createRouteReader(catalog, route)
  const limits = limitsOfRoute(catalog, route)
  const encode = createOutputEncoder(route, catalog.versions)
  return {
    kind: 'request',
    name: jobNameOf(route),
    attempts: REQUEST_ATTEMPTS,
    timeoutMs: route.timeoutMs ?? STEPS_TIMEOUT_MS,
    isFinal: isUnknownOutcome,
    async run(attempt) {
      const { id } = attempt
      const request = deps.received.get(id) ?? (await deps.requests.read(id))
      const { call, now } = request
      const principal = call.principal!
      const views = createRowViews(catalog, call.version!, principal)
      const log = catalog.ownLog(() => {
        const job = { job: jobNameOf(route), job_id: id, attempt: attempt.attempt }
        return { ...factsOfCall(call), ...job }
      })
      const words = { now, log, principal: ownPrincipalOf(principal) }
      const origin = originOf(request)
      const own = createOwnSteps(catalog, deps, attempt, { views, words, origin })
      if ((await own.steps.readResponse()) !== undefined) return
      const { chain, ...sent } = readAgain(() => readRequest(call))
      const { version, params } = call
      const { show } = views
      const { signal } = own.steps
      const context = { ...words, ...sent, version, params, signal, show }
      const access = accessOf(catalog, deps, { call, own, views })
      const handle = () => route.handle({ ...context, ...access })
      const outcome = await outcomeOf(async () => {
        const run = () => withSteps<AnyResult>(own, handle)
        return encode(await inCallersTerms({ chain }, run), views)
      })
      own.steps.throwIfEnded()
      const stored: StoredOutcome = {
        ...outcome,
        ...rightsOf(principal, limits),
      }
      await own.steps.storeResponse(writeOutcome(stored))
    },
  }
}

/**
 * Returns what the keys of a request's steps belong to. A database that was restored without the
 * request gives a repeat on the same day the same keys. An `Idempotency-Key` that is used again
 * after 24 h is another request (§11.1), and always of another day.
 */
const originOf = ({ hash, now }: StoredRequest): string => `${hash} ${isoTime(now).slice(0, 10)}`

/** A declaration that rejects a stored request is no response to it: the attempt fails. */
function readAgain<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new Error('the service does not accept the stored request any more', { cause: error })
  }
}

/** Returns the outcome of a handler. Exceptions other than a `Failure` below 500 are thrown. */
async function outcomeOf(
  handle: () => Promise<Parameters<typeof requireAnswerFits>[0]>,
): Promise<RequestOutcome> {
  try {
    const answer = await handle()
    requireAnswerFits(answer)
    return { answer }
  } catch (error) {
    if (!(error instanceof Failure) || error.status >= 500) throw error
    return failureOutcome(error)
  }
}

interface RequestParts {
  readonly call: Call
  readonly own: OwnSteps
  readonly views: RowViews
}

/** Returns `step`, `read` and `write` of a handler, within the reach of the caller. */
function accessOf(
  catalog: Catalog,
  { db, record }: StepRouteDeps,
  { call, own, views }: RequestParts,
) {
  const principal = call.principal!
  const reach = callersReach(principal)
  const access = { principal, actor: actorOf(call), reach, record, views }
  const { group: customer, caller } = ownerOfPrincipal(principal)
  const turns = own.openReads(principal.scope)
  const reader = createServiceReader(catalog, turns, reach, db, views)
  return {
    step: own.step,
    read: (name: string, code: (read: unknown) => unknown) => own.read(name, () => code(reader)),
    write(name: string, code: (tx: unknown) => unknown) {
      const change = (tx: Tx) => {
        setRequestOf(tx, call)
        return withServiceTx(catalog, access, tx, code)
      }
      return own.write(name, change, { customer, caller, scope: principal.scope })
    },
  }
}
