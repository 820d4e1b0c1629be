/** `POST /webhooks/{id}/test` (§9.3): one attempt with a sample event, recorded in the log. */

import type { Tx } from '../../platform/storage/database.ts'
import type { ValuesOf } from '../../protocol/fields/members.ts'
import { type Answer, type Call, json } from '../../protocol/http/call.ts'
import { decodeAttempts, encodeAttempt } from '../deliveries/delivery.ts'
import { insertTestDelivery } from '../deliveries/log-store.ts'
import { type BodyRenderer, deliveryIdOf } from '../deliveries/outbox.ts'
import type { Registration } from '../deliveries/registration-store.ts'
import * as store from '../deliveries/registration-store.ts'
import { isDelivered } from '../transport/attempt.ts'
import { requireReadable } from './authority.ts'
import { type DirectAttempt, postEvent, requireRelease } from './direct-post.ts'
import type { RegistrationInputs } from './registration.ts'
import {
  lockRegistrationAt,
  readLiveSecrets,
  recordOperation,
  registrationAt,
  type WebhookContext,
} from './registrations.ts'

/**
 * Sends a test delivery of a type and returns its outcome. It is not retried. It does not affect
 * the circuit breaker, unless `resume_deliveries` is true: a success then clears the failures.
 * Throws 403 for a type that the caller may not read, 409 `invalid_state` for a secret that cannot
 * be decrypted and while restored data is held, 429 beyond the limit.
 */
export function sendTestDelivery(
  context: WebhookContext,
  { render, effective }: BodyRenderer,
  call: Call,
  {
    event_type: type,
    api_version,
    resume_deliveries: resumes,
  }: ValuesOf<RegistrationInputs['test']>,
): Promise<Answer> {
  const { types, db, newest, limits, perform } = context
  requireReadable(context, call.principal!, [type])
  let registration: Registration | undefined
  let attempt: DirectAttempt | undefined
  const send = async () => {
    requireRelease(context)
    const stored = await registrationAt(context, call)
    registration = { ...stored, api_version: api_version ?? stored.api_version }
    const { tag, scope, url, api_version: version } = registration
    const secrets = await readLiveSecrets(context, db, registration)
    await limits.countTest(call.principal!, registration.id)
    const collection = types.collections.get(type)
    const sample = { type, collection, object: types.sample(type), shape: newest }
    const object = render(sample, effective(version))
    attempt = await postEvent(context, { scope, url, tag, secrets }, { type, object })
  }
  return perform(
    call,
    async (tx) => {
      const { eventId, at, outcome } = attempt!
      const id = deliveryIdOf(eventId, registration!.tag)
      const state = isDelivered(outcome) ? 'delivered' : 'failed'
      const attempts = encodeAttempt({ n: 1, at, url: registration!.url }, outcome)
      await insertTestDelivery(tx, registration!, {
        id,
        event_id: eventId,
        event_type: type,
        state,
        created_at: at,
        attempts,
      })
      if (resumes && state === 'delivered') await resumeDeliveries(context, tx, call, registration!)
      const { status, duration_ms, error } = decodeAttempts(attempts)[0]!
      return json(200, {
        event_id: eventId,
        delivery_id: id,
        delivered: state === 'delivered',
        response_status: status,
        duration_ms,
        error,
      })
    },
    { prepare: send },
  )
}

/** Clears the failures of a receiver that accepted a test, unless its URL changed meanwhile. */
async function resumeDeliveries(
  context: WebhookContext,
  tx: Tx,
  call: Call,
  { url }: Registration,
): Promise<void> {
  const row = await lockRegistrationAt(context, call, tx)
  if (row.url !== url || row.active === 0) return
  await store.resumeRegistration(tx, row, context.clock.now())
  const detail = { resume_deliveries: true }
  await recordOperation(context, tx, call, { action: 'update', id: row.id, detail })
  tx.afterCommit(() => context.wake([row.no]))
}
