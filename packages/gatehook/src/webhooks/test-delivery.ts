/** `POST /webhooks/{id}/test` (§9.3): a sample event, one attempt, now; it stands in the log. */

import { decodeAttempts, encodeAttempt } from '../deliveries/delivery.ts'
import { insertTestDelivery } from '../deliveries/log-store.ts'
import { deliveryIdOf } from '../deliveries/outbox.ts'
import type { RenderObject } from '../events/event.ts'
import { type Answer, type Call, json } from '../http/call.ts'
import { readMembers } from '../kernel/members.ts'
import { isDelivered } from '../transport/attempt.ts'
import { refuseUnreadable } from './authority.ts'
import { type Posted, postEvent } from './post.ts'
import { membersOf, type Registration } from './registration.ts'
import { type Desk, registrationAt, secretsOf } from './registrations.ts'

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
      const { eventId, at, outcome } = posted!
      const state = isDelivered(outcome) ? 'delivered' : 'failed'
      const attempts = encodeAttempt(1, at, outcome)
      const delivery = {
        id: deliveryIdOf(eventId, registration!.tag),
        event_id: eventId,
        event_type: type,
        state,
        created_at: at,
        attempts,
      } as const
      await insertTestDelivery(tx, registration!, delivery)
      const [attempt] = decodeAttempts(attempts)
      return json(200, {
        event_id: eventId,
        delivery_id: delivery.id,
        delivered: state === 'delivered',
        response_status: attempt!.status,
        duration_ms: attempt!.duration_ms,
        error: attempt!.error,
      })
    },
    post,
  )
}

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
  return postEvent(
    desk,
    receiver,
    { type, object },
    { deliveryId: (eventId) => deliveryIdOf(eventId, tag) },
  )
}
