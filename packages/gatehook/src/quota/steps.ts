/**
 * Steps of the pipeline: the request limit, and its headers
 * (draft-ietf-httpapi-ratelimit-headers-10).
 */
import type { After, Call, Step } from '../http/call.ts'
import { problem } from '../http/problem.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Database } from '../storage/database.ts'
import { type Limiter, localLimiter, sharedLimiter, type Verdict } from './limiter.ts'
import { drawFrom } from './store.ts'
import type { Rate } from './window.ts'

export interface QuotaSteps {
  /** For who has shown who they are: 429 before anything is done. */
  readonly known: Step
  /** For everybody else, by address: their refusals are bounded too. */
  readonly anonymous: After
}

/** Counted in memory by one node, in the database by several. */
export const createQuota = (db: Database, clock: Clock, rate: Rate | null): QuotaSteps =>
  quotaSteps(db.dialect.shared ? sharedLimiter(clock, drawFrom(db)) : localLimiter(clock), rate)

/** `rate` null: no limit, no headers. */
export function quotaSteps(limiter: Limiter, rate: Rate | null): QuotaSteps {
  const note = (call: Call, applied: Rate, { remaining, resetMs }: Verdict) => {
    call.out['ratelimit-policy'] = `"default";q=${applied.limit};w=${applied.windowMs / 1000}`
    call.out.ratelimit = `"default";r=${remaining};t=${Math.ceil(resetMs / 1000)}`
  }
  const refuse = (verdict: Verdict) =>
    new Failure('rate_limited', undefined, {
      headers: { 'retry-after': String(Math.max(1, Math.ceil(verdict.resetMs / 1000))) },
    })
  return {
    known(call) {
      const principal = call.principal
      const applied = principal?.rate ?? rate
      if (!principal || !applied) return undefined
      const judge = (verdict: Verdict) => {
        note(call, applied, verdict)
        if (!verdict.allowed) throw refuse(verdict)
      }
      const verdict = limiter(`${principal.kind}:${principal.subject}:${principal.scope}`, applied)
      return verdict instanceof Promise ? verdict.then(judge) : judge(verdict)
    },
    anonymous(call, answer) {
      // A preflight costs nothing and can carry no credential: refused, it would break the pages of
      // callers who are far from their own limit, and they could not even read why.
      if (call.principal || !rate || call.method === 'OPTIONS') return undefined
      const judge = (verdict: Verdict) => {
        note(call, rate, verdict)
        if (verdict.allowed) return
        const { status, json, headers } = problem(refuse(verdict), {
          requestId: call.id,
          accept: call.headers.accept,
          path: call.path,
        })
        Object.assign(answer, { status, json, headers, raw: undefined })
      }
      const verdict = limiter(`address:${call.address}`, rate)
      return verdict instanceof Promise ? verdict.then(judge) : judge(verdict)
    },
  }
}
