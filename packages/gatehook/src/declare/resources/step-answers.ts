/**
 * Answers requests to routes with steps (§15.6): stores the request as a job that this node runs,
 * and waits for its response. A repeat waits for the attempt that runs, begins the next one, or
 * gets the stored response.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { createGroupPlaces } from '../../kernel/caller-group.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { createIdSequence } from '../../kernel/id.ts'
import type { Random } from '../../kernel/random.ts'
import { retryAfterS } from '../../kernel/time.ts'
import {
  findRequestJob,
  insertRequestJob,
  type RequestJob,
} from '../../platform/jobs/request-jobs.ts'
import type { ClaimNow, JobRunner } from '../../platform/jobs/runner.ts'
import { REPEAT_FOR_MS } from '../../platform/jobs/steps.ts'
import { deleteStepsOf, hasUnknownStep } from '../../platform/jobs/steps-store.ts'
import * as store from '../../platform/jobs/store.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import type { Answer, Call } from '../../protocol/http/call.ts'
import { ownerOfPrincipal } from '../../protocol/http/owner.ts'
import { prefersDryRun } from '../../protocol/idempotency/dry-run.ts'
import {
  contentTexts,
  deriveRecordHash,
  readIdempotencyKey,
} from '../../protocol/idempotency/key.ts'
import { answerOf, inProgress, replayOutcome } from '../../protocol/idempotency/outcome.ts'
import type { Catalog } from './catalog.ts'
import type { RouteDefinition } from './route.ts'
import { createRouteReader } from './route-input.ts'
import { limitsOfRoute } from './route-output.ts'
import { jobNameOf, REQUEST_ATTEMPTS } from './step-routes.ts'
import type { StoredRequest, StoredRequests } from './stored-requests.ts'

/** How long a repeat waits for the attempt that runs. */
const WAIT_MS = 25_000
/** The pause between two looks at an attempt of another node. */
const LOOK_MS = 250
/** Repeats begin the others; an outage of an hour must not use up all of them. */
const ATTEMPTS_OF_ENGINE = 2
/** Requests of a node that wait for their steps, and those of one owner (§11.5). */
const REQUESTS_MAX = 500
const REQUESTS_OF_OWNER_MAX = 50

interface AnswerDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly requests: StoredRequests
  readonly received: Map<string, StoredRequest>
  readonly lane: Pick<JobRunner, 'begin' | 'endOf'>
  /** Whether restored data is held (§18.5): stored requests then wait, as other jobs do. */
  readonly isHeld: () => boolean
  /** Runs in the transaction that stores a request. */
  readonly recordChange: (tx: Tx, call: Call) => Promise<void>
}

export type AnswerRequests = (route: RouteDefinition) => (call: Call) => Promise<Answer>

/** Returns the function that answers the requests to routes with steps. */
export function createStepAnswers(catalog: Catalog, deps: AnswerDeps): AnswerRequests {
  const enter = createGroupPlaces({ total: REQUESTS_MAX, ofGroup: REQUESTS_OF_OWNER_MAX })
  const begin = createBegin(deps)
  const { db, clock, lane, requests } = deps
  return (route) => {
    const readRequest = createRouteReader(catalog, route)
    const name = jobNameOf(route)
    const limits = limitsOfRoute(catalog, route)
    const answer = async (call: Call, hash: string): Promise<Answer> => {
      let comparedJob: string | undefined
      for (const endMs = clock.elapsedMs() + WAIT_MS; ; ) {
        const job = await findRequestJob(db, hash)
        const isLive = job && (job.purge_at === null || job.purge_at > clock.now())
        if (isLive) {
          if (job.id !== comparedJob) await requireSame(requests, job.id, call)
          comparedJob = job.id
          const stored = await requests.readResponse(job.id)
          if (stored) return replayOutcome(call, db, stored, { limits })
          if (job.state !== 'waiting' && job.state !== 'running')
            throw await ofEnded(db, clock, job)
          const isWaiting = job.state === 'waiting'
          if (isWaiting && (isLeftToEngine(job) || deps.isHeld())) throw unfinished(clock, job)
        }
        const begun = isLive ? await continueJob(deps, job) : await begin(call, { hash, name, job })
        if (begun) {
          await begun.ended
          const stored = await requests.readResponse(begun.id)
          if (!stored) throw await ofUnfinished(db, clock, hash)
          // The attempt had the rights of the first request; this caller may have lost some.
          return isLive ? replayOutcome(call, db, stored, { limits }) : answerOf(stored)
        }
        if (clock.elapsedMs() >= endMs) throw inProgress()
        const ended = job && lane.endOf(job.no)
        await Promise.race([delay(LOOK_MS), ...(ended ? [ended] : [])])
      }
    }
    return async (call) => {
      if (prefersDryRun(call)) {
        const message = 'A route with steps has no dry run. The request was not executed.'
        throw new Failure('invalid_request', message)
      }
      const key = readIdempotencyKey(call)
      if (key === undefined) throw new Failure('idempotency_key_required')
      readRequest(call)
      const leave = enter(ownerOfPrincipal(call.principal!).group)
      if (!leave) throw tooManyRequests()
      try {
        return await answer(call, deriveRecordHash(call, key).toString('base64url'))
      } finally {
        leave()
      }
    }
  }
}

interface NewRequest {
  readonly hash: string
  readonly name: string
  /** The expired job of the same request. */
  readonly job: RequestJob | undefined
}

/** Returns the function that stores a request and begins its first attempt. */
function createBegin({ clock, random, requests, received, lane, recordChange }: AnswerDeps) {
  const nextId = createIdSequence('job_', random)
  return async (call: Call, { hash, name, job: expired }: NewRequest) => {
    const now = clock.now()
    const id = nextId(now)
    const request = { call, hash, now }
    received.set(id, request)
    try {
      const attempt = await lane.begin(async (tx, hold) => {
        if (expired) {
          await deleteStepsOf(tx, expired.id)
          await store.removeJob(tx, expired.no)
        }
        const job = await insertRequestJob(
          tx,
          { id, name, principal: call.principal!, request: hash },
          hold,
        )
        if (!job) return undefined
        await requests.insert(tx, id, request)
        await recordChange(tx, call)
        return job
      })
      return attempt && { id, ...attempt }
    } finally {
      received.delete(id)
    }
  }
}

/** Whether repeats begin no further attempt: those that are left are for a longer outage. */
const isLeftToEngine = ({ attempt }: RequestJob): boolean =>
  attempt > REQUEST_ATTEMPTS - ATTEMPTS_OF_ENGINE

/** Begins the next attempt of a job that waits for it. */
async function continueJob({ lane }: Pick<AnswerDeps, 'lane'>, job: RequestJob) {
  if (job.state !== 'waiting') return undefined
  const claim: ClaimNow = async (tx, hold) =>
    (await store.claimJob(tx, job, hold)) ? job : undefined
  const attempt = await lane.begin(claim)
  return attempt && { id: job.id, ...attempt }
}

async function requireSame(requests: StoredRequests, job: string, call: Call): Promise<void> {
  const { call: first } = await requests.read(job)
  const [firstText, text] = await contentTexts(call, [first, call])
  if (firstText !== text) throw new Failure('idempotency_key_reused')
}

/** Returns the failure for a request whose job has failed. */
async function ofEnded(db: Database, clock: Clock, { id }: RequestJob): Promise<Failure> {
  if (await hasUnknownStep(db, id, clock.now() - REPEAT_FOR_MS)) {
    return new Failure('step_outcome_unknown')
  }
  const message = 'All attempts at the request have failed. An operator can continue it.'
  return new Failure('request_incomplete', message, { headers: { 'retry-after': '3600' } })
}

/** Returns the failure for a caller whose attempt ended without a response. */
async function ofUnfinished(db: Database, clock: Clock, hash: string): Promise<Failure> {
  const job = await findRequestJob(db, hash)
  return job?.state === 'failed' ? ofEnded(db, clock, job) : unfinished(clock, job)
}

/** A caller that waits for the engine's next attempt uses none. */
function unfinished(clock: Clock, job: Pick<RequestJob, 'run_at'> | undefined): Failure {
  const waitMs = (job?.run_at ?? 0) - clock.now()
  return new Failure('request_incomplete', undefined, {
    headers: { 'retry-after': String(retryAfterS(waitMs)) },
  })
}

function tooManyRequests(): Failure {
  const message = 'Too many requests wait for other systems. Retry later.'
  return new Failure('overloaded', message, { headers: { 'retry-after': '1' } })
}
