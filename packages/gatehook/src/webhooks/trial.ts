/** `POST /webhooks/{id}/test` (§9.3): a sample event, one attempt, now; it stands in the log. */

import { attemptRecord, storedAttempt } from '../deliveries/delivery.ts'
import { type Answer, type Call, json } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'
import { readMembers } from '../kernel/members.ts'
import type { Limiter } from '../quota/limiter.ts'
import { fixed } from '../storage/sql.ts'
import { isDelivered } from '../transport/attempt.ts'
import type { AgainDeps } from './again.ts'
import { type Posted, postEvent } from './post.ts'
import { mayAskFor, membersOf, type Registration } from './registration.ts'
import { type Desk, registrationAt, secretsOf } from './registrations.ts'

const PER_REGISTRATION = { limit: 10, windowMs: 60_000 }

const insert = fixed(
  `INSERT INTO gh_deliveries
     (id, scope, webhook_no, event_id, event_type, version, state, attempt, created_at, attempts)
   VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?)`,
)

export interface TrialDeps extends Pick<AgainDeps, 'render' | 'effective'> {
  readonly limiter: Limiter
}

/** `{event_type}` → what came of it. Nothing is told to the breaker, nothing is tried again. */
export function tryOut(desk: Desk, deps: TrialDeps, call: Call): Promise<Answer> {
  const { event_type: type } = readMembers(call.body, membersOf(desk).test)
  if (!mayAskFor(type, desk.seesWhole(call.principal!), desk.types)) {
    throw new Failure('insufficient_scope', `The credential may not see ${type}.`)
  }
  let registration: Registration | undefined
  let posted: Posted | undefined
  const post = async () => {
    registration = await registrationAt(desk, call)
    await limited(deps.limiter, registration)
    posted = await send(desk, deps, registration, type)
  }
  return desk.perform(
    call,
    async (tx) => {
      const { scope, no, tag, api_version: version } = registration!
      const { eventId, at, outcome } = posted!
      const id = deliveryId(tag)(eventId)
      const record = attemptRecord(1, at, outcome)
      const state = isDelivered(outcome) ? 'delivered' : 'failed'
      const attempts = storedAttempt(1, at, outcome)
      await tx.run(insert([id, scope, no, eventId, type, version, state, at, attempts]))
      return json(200, {
        event_id: eventId,
        delivery_id: id,
        delivered: state === 'delivered',
        response_status: record.status,
        duration_ms: record.duration_ms,
        error: record.error,
      })
    },
    post,
  )
}

const deliveryId = (tag: string) => (eventId: string) => `dlv_${eventId.slice(4)}${tag}`

async function limited(limiter: Limiter, { id }: Registration): Promise<void> {
  const { allowed, resetMs } = await limiter.take([
    { key: `webhook test:${id}`, rate: PER_REGISTRATION },
  ])
  if (allowed) return
  const most = `At most ${PER_REGISTRATION.limit} tests of a registration are sent in a minute.`
  throw new Failure('rate_limited', most, {
    headers: { 'retry-after': String(Math.max(1, Math.ceil(resetMs / 1000))) },
  })
}

async function send(
  desk: Desk,
  { render, effective }: TrialDeps,
  { no, tag, scope, url, api_version: version }: Registration,
  type: string,
): Promise<Posted> {
  const secrets = await secretsOf(desk, desk.db, no)
  const collection = desk.types.collections.get(type)
  const object = render(collection, desk.types.sample(type), desk.newest, effective(version))
  const receiver = { scope, url, secrets }
  return postEvent(desk, receiver, { type, object }, { deliveryId: deliveryId(tag) })
}
