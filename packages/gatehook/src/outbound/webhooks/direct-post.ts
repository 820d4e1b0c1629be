/**
 * POSTs to a receiver outside of the delivery queue and of every transaction: the ping that
 * verifies a URL (§9.1) and test deliveries (§9.3).
 */

import { envelope } from '../../history/events/event.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { createTimeOrderedId } from '../../kernel/id.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Random } from '../../kernel/random.ts'
import { deliveryIdOf } from '../deliveries/outbox.ts'
import { type SigningSecret, signatureHeaders } from '../deliveries/signature.ts'
import type { Outcome, Send, Unanswered } from '../transport/attempt.ts'
import { findTargetProblem } from '../transport/target.ts'

export interface DirectPostDeps {
  readonly clock: Clock
  readonly random: Random
  readonly send: Send
  readonly allowPrivate: boolean
  readonly userAgent: string
  /** Whether restored data is held (§18.5): then nothing is sent. */
  readonly isHeld: () => boolean
}

/** Throws 409 `invalid_state` while restored data is held. */
export function requireRelease({ isHeld }: Pick<DirectPostDeps, 'isHeld'>): void {
  if (!isHeld()) return
  const message =
    'The data of this installation was restored: it sends nothing until an operator releases it.'
  throw new Failure('invalid_state', message)
}

interface PostTarget {
  readonly scope: Scope
  readonly url: string
  /** The registration's tag, part of the delivery id; empty for a ping. */
  readonly tag: string
  /** Live secrets, oldest first. */
  readonly secrets: readonly SigningSecret[]
}

export interface DirectAttempt {
  readonly eventId: string
  /** When it started, in epoch milliseconds. */
  readonly at: number
  readonly outcome: Outcome
}

const PING_TIMEOUT_MS = 5000

/** POSTs an event that is not recorded. */
export async function postEvent(
  { clock, random, send, userAgent }: DirectPostDeps,
  { scope, url, tag, secrets }: PostTarget,
  { type, object }: { readonly type: string; readonly object: string },
  timeoutMs?: number,
): Promise<DirectAttempt> {
  const at = clock.now()
  const atS = Math.floor(at / 1000)
  const id = createTimeOrderedId('evt_', at, random)
  const body = envelope({ id, type, created: atS, scope }, object)
  const deliveryId = deliveryIdOf(id, tag)
  const headers = signatureHeaders({
    secrets,
    id,
    type,
    deliveryId,
    attempt: 1,
    atS,
    body,
    userAgent,
  })
  return { eventId: id, at, outcome: await send({ url, body, headers, timeoutMs }) }
}

/**
 * Verifies that a receiver responds to a ping, with any status. Throws `invalid_state` while
 * restored data is held, `url_not_allowed`, before
 * any connection where the URL contains the address, or `url_unreachable`; both name `/url`.
 *
 * @param count called before the connection; throws when the limit is exceeded
 */
export async function verifyReceiver(
  deps: DirectPostDeps,
  { scope, url, secrets }: Omit<PostTarget, 'tag'>,
  registrationId: string,
  count: () => Promise<void>,
): Promise<void> {
  requireRelease(deps)
  if (findTargetProblem(url, deps.allowPrivate) === 'address') throw notAllowed()
  await count()
  const object = JSON.stringify({ id: registrationId, status: 'verifying', url })
  const ping = { type: 'webhook.ping', object }
  const { outcome } = await postEvent(deps, { scope, url, tag: '', secrets }, ping, PING_TIMEOUT_MS)
  if (outcome.kind === 'answered') return
  throw outcome.reason === 'blocked' ? notAllowed() : unreachable(outcome)
}

const notAllowed = () => {
  const message = 'has a private or local address'
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
