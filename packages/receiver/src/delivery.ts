/**
 * Handles a delivery from its bytes to the response: verification, deduplication, `onEvent`. The
 * adapters read the bytes and send the response.
 */
import type { HeadersLike } from './headers.ts'
import type { Bytes, Scheme } from './signature.ts'
import { type EventStore, memoryStore } from './store.ts'
import {
  requireRegisteredSecrets,
  unixSeconds,
  type VerificationErrorCode,
  type VerifyRules,
  verify,
  type WebhookEvent,
  WebhookVerificationError,
} from './verify.ts'

/** The signed facts of a delivery besides its event. */
export interface DeliveryContext {
  /** The id for deduplication: the event's `id`, or the signed `webhook-id` without one. */
  readonly id: string
  readonly scheme: Scheme
  /** The signed time in Unix seconds; undefined with scheme A. */
  readonly timestamp: number | undefined
  /**
   * The event is older (by `created`) than the newest handled event of the same object: a receiver
   * that stores the state of the object skips it, one that acts on each event does not. Events of
   * equal time are not stale.
   */
  readonly stale: boolean
}

type SignedContext = Omit<DeliveryContext, 'stale'>

export interface ReceiverOptions<Event = WebhookEvent> extends VerifyRules {
  /**
   * Handles an event, once per event id. If it throws, the response is 500, the id is not stored,
   * and the sender retries. The sender waits 15 s by default: put longer work in a queue.
   */
  readonly onEvent: (event: Event, context: DeliveryContext) => unknown
  /** Default: {@link memoryStore}. */
  readonly store?: EventStore | undefined
  /**
   * Responds to a stale event with 200 without a call of `onEvent`. Correct only if `onEvent`
   * stores the state of the object and does nothing else. Default: false.
   */
  readonly dropStale?: boolean | undefined
  /** Receives an event whose response was 200 without a call of `onEvent`. */
  readonly onDropped?: (
    event: Event,
    reason: 'duplicate' | 'stale',
    context: DeliveryContext,
  ) => unknown
  /** Receives an error of `onEvent` or the store. Default: `console.error`. */
  readonly onError?: (error: unknown) => unknown
  /**
   * Receives the reason of a delivery that is not authentic, whose response is 400. Callers without
   * a secret can cause many. Default: `console.warn`, at most once per code and minute.
   */
  readonly onRejected?: ((error: WebhookVerificationError) => unknown) | undefined
  /** The maximum body in bytes. Default: 1 MiB; an event has at most 256 KiB. */
  readonly maxBodyBytes?: number | undefined
}

/** A response, which an adapter converts for its runtime. */
export interface DeliveryAnswer {
  readonly status: 200 | 400 | 405 | 413 | 500
  readonly body: { readonly received: true } | { readonly error: string }
}

export type Deliver = (headers: HeadersLike, body: Bytes) => Promise<DeliveryAnswer>

export const DEFAULT_MAX_BODY_BYTES = 1024 * 1024

export const refusal = (status: 400 | 405 | 413 | 500, error: string): DeliveryAnswer => ({
  status,
  body: { error },
})

export const TOO_LARGE = refusal(413, 'payload_too_large')
export const WRONG_METHOD = refusal(405, 'method_not_allowed')

/**
 * Returns the handler that all adapters share. It never rejects: an error of the receiver goes to
 * `onError`, and the response is 500, so that the sender retries.
 *
 * @throws {TypeError} A secret is missing or a placeholder, or contains white space or quotes.
 */
export function createDeliveryHandler<Event = WebhookEvent>(
  options: ReceiverOptions<Event>,
): Deliver {
  requireRegisteredSecrets(options.secrets)
  const store = options.store ?? memoryStore()
  const onError = options.onError ?? ((error) => console.error(error))
  const onRejected = options.onRejected ?? warnOncePerMinute(() => unixSeconds(options.now))
  // Concurrent deliveries of one event share a run of `onEvent`, and its result.
  const running = new Map<string, Promise<void>>()

  const handleEvent = async (event: Event, signed: SignedContext): Promise<void> => {
    const object = objectOf(event)
    const isDuplicate = await store.has(signed.id)
    const newest = object && (await store.newest(object.object))
    const context = { ...signed, stale: newest !== undefined && object!.created < newest }
    if (isDuplicate) return void (await options.onDropped?.(event, 'duplicate', context))
    if (context.stale && options.dropStale === true) {
      return void (await options.onDropped?.(event, 'stale', context))
    }
    await options.onEvent(event, context)
    await store.add(context.id, object)
  }

  return async (headers, body) => {
    try {
      const [event, context] = await verifyEvent<Event>(headers, body, options)
      let work = running.get(context.id)
      if (!work) {
        work = handleEvent(event, context).finally(() => running.delete(context.id))
        running.set(context.id, work)
      }
      await work
      return { status: 200, body: { received: true } }
    } catch (error) {
      if (error instanceof WebhookVerificationError) {
        await onRejected(error)
        return refusal(400, error.code)
      }
      await onError(error)
      return refusal(500, 'handler_failed')
    }
  }
}

const WARNING_INTERVAL_S = 60

/** Returns the default of `onRejected`. Its line has neither a secret nor a part of the request. */
function warnOncePerMinute(nowS: () => number): (error: WebhookVerificationError) => void {
  const warnedAt = new Map<VerificationErrorCode, number>()
  return ({ code, message }) => {
    const now = nowS()
    const last = warnedAt.get(code)
    if (last !== undefined && Math.abs(now - last) < WARNING_INTERVAL_S) return
    warnedAt.set(code, now)
    console.warn(`gatehook-receiver: rejected a delivery with 400 ${code}: ${message}`)
  }
}

async function verifyEvent<Event>(
  headers: HeadersLike,
  body: Bytes,
  rules: VerifyRules,
): Promise<[Event, SignedContext]> {
  const { event, scheme, timestamp, id } = await verify<{ id?: unknown }>({
    ...rules,
    headers,
    body,
  })
  const eventId = typeof event === 'object' && event !== null ? event.id : undefined
  const deliveryId = typeof eventId === 'string' && eventId !== '' ? eventId : id
  if (typeof event !== 'object' || event === null || deliveryId === undefined) {
    throw new WebhookVerificationError('invalid_event', 'The signed body is not an event.')
  }
  return [event as Event, { id: deliveryId, scheme, timestamp }]
}

/** Returns the object of an event. Object ids are unique within a type and a mode only. */
function objectOf(event: unknown): { object: string; created: number } | undefined {
  const { type, created, livemode, data } = event as Partial<WebhookEvent>
  const id = data?.object?.id
  if (typeof type !== 'string' || typeof created !== 'number') return undefined
  if (typeof id !== 'string' && typeof id !== 'number') return undefined
  const noun = type.slice(0, Math.max(type.lastIndexOf('.'), 0)) || type
  return { object: `${livemode === true ? 'live' : 'test'}:${noun}:${id}`, created }
}
