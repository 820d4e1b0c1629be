/**
 * One POST to a receiver, now, outside of every queue and transaction: the ping that verifies a URL
 * (§9.1) and the test of a registration (§9.3).
 */

import { type SigningSecret, signatureHeaders } from '../deliveries/signature.ts'
import { envelope } from '../events/event.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import { createTimeOrderedId } from '../kernel/id.ts'
import type { Scope } from '../kernel/principal.ts'
import type { Random } from '../kernel/random.ts'
import type { Outcome, Send, Unanswered } from '../transport/attempt.ts'
import { findTargetProblem } from '../transport/target.ts'

export interface PostDeps {
  readonly clock: Clock
  readonly random: Random
  readonly send: Send
  readonly allowPrivate: boolean
  readonly userAgent: string
}

export interface Receiver {
  readonly scope: Scope
  readonly url: string
  /** Live secrets, oldest first. */
  readonly secrets: readonly SigningSecret[]
}

export interface Posted {
  readonly eventId: string
  /** Epoch milliseconds. */
  readonly at: number
  readonly outcome: Outcome
}

const PING_TIMEOUT_MS = 5000

/** Sends an event that is recorded nowhere. `deliveryId` is made from the event's id. */
export async function postEvent(
  { clock, random, send, userAgent }: PostDeps,
  { scope, url, secrets }: Receiver,
  event: { readonly type: string; readonly object: string },
  options: { readonly deliveryId: (eventId: string) => string; readonly timeoutMs?: number },
): Promise<Posted> {
  const at = clock.now()
  const atS = Math.floor(at / 1000)
  const eventId = createTimeOrderedId('evt_', at, random)
  const { type, object } = event
  const body = envelope({ id: eventId, type, created: atS, scope }, object)
  const deliveryId = options.deliveryId(eventId)
  const signed = { secrets, id: eventId, type, deliveryId, attempt: 1, atS, body, userAgent }
  const headers = signatureHeaders(signed)
  const outcome = await send({ url, body, headers, timeoutMs: options.timeoutMs })
  return { eventId, at, outcome }
}

/**
 * Any answer at all says that somebody is there. Throws `url_not_allowed`, without a connection
 * where the address refuses itself, or `url_unreachable`; both name `/url`. `permit` runs before
 * the connection, and throws where there were too many.
 */
export async function verifyReceiver(
  deps: PostDeps,
  receiver: Receiver,
  registrationId: string,
  permit: () => Promise<void>,
): Promise<void> {
  if (findTargetProblem(receiver.url, deps.allowPrivate) === 'address') throw notAllowed()
  await permit()
  const object = JSON.stringify({ id: registrationId, status: 'verifying', url: receiver.url })
  const { outcome } = await postEvent(
    deps,
    receiver,
    { type: 'webhook.ping', object },
    {
      deliveryId: (eventId) => `dlv_${eventId.slice(4)}`,
      timeoutMs: PING_TIMEOUT_MS,
    },
  )
  if (outcome.kind === 'answered') return
  throw outcome.reason === 'blocked' ? notAllowed() : unreachable(outcome)
}

const notAllowed = () => {
  const message = 'leads to a private or local address'
  return new Failure('url_not_allowed', undefined, {
    errors: [{ pointer: '/url', code: 'url_not_allowed', message }],
  })
}

function unreachable({ reason, message }: Unanswered): Failure {
  const sentence = `The receiver could not be reached (${reason}).`
  return new Failure('url_unreachable', sentence, {
    errors: [{ pointer: '/url', code: reason, message }],
  })
}
