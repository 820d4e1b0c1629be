/** `POST /webhooks/{id}/test` (§9.3): a sample event, one attempt, now; it stands in the log. */

import { attemptRecord, storedAttempt } from '../deliveries/delivery.ts'
import type { RenderObject } from '../events/event.ts'
import { type Answer, type Call, json } from '../http/call.ts'
import { readMembers } from '../kernel/members.ts'
import { fixed } from '../storage/sql.ts'
import { isDelivered } from '../transport/attempt.ts'
import { refuseUnreadable } from './authority.ts'
import { type Posted, postEvent } from './post.ts'
import { membersOf, type Registration } from './registration.ts'
import { type Desk, registrationAt, secretsOf } from './registrations.ts'

const insert = fixed(
  `INSERT INTO gh_deliveries
     (id, scope, webhook_no, event_id, event_type, version, state, attempt, created_at, attempts)
   VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?)`,
)

export interface TestDeps {
  readonly render: RenderObject
  /** The version that a pinned one is served in now. */
  readonly effective: (version: string) => string
}

/**
 * `{event_type}` → the outcome. A test delivery does not affect the circuit breaker and is not
 * retried. Throws 403 for a type that the caller may not read, 429.
 */
export function sendTest(desk: Desk, deps: TestDeps, call: Call): Promise<Answer> {
  const { event_type: type } = readMembers(call.body, membersOf(desk).test)
  refuseUnreadable(desk, call.principal!, [type])
  let registration: Registration | undefined
  let posted: Posted | undefined
  const post = async () => {
    registration = await registrationAt(desk, call)
    await desk.limits.testing(call.principal!, registration.id)
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

async function send(
  desk: Desk,
  { render, effective }: TestDeps,
  { no, tag, scope, url, api_version: version }: Registration,
  type: string,
): Promise<Posted> {
  const secrets = await secretsOf(desk, desk.db, no)
  const collection = desk.types.collections.get(type)
  const object = render(collection, desk.types.sample(type), desk.newest, effective(version))
  const receiver = { scope, url, secrets }
  return postEvent(desk, receiver, { type, object }, { deliveryId: deliveryId(tag) })
}
