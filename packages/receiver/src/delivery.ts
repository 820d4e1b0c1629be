/**
 * One delivery from bytes to answer: verified, deduplicated, handled once. What every adapter
 * shares; how bytes come in and answers go out is theirs.
 */
import type { HeadersLike } from './headers.ts'
import type { Bytes, Scheme } from './signature.ts'
import { type EventStore, memoryStore } from './store.ts'
import {
  secretsOf,
  type VerifyRules,
  verify,
  type WebhookEvent,
  WebhookVerificationError,
} from './verify.ts'

/** How the event came. */
export interface DeliveryContext {
  /**
   * What deduplication goes by: the event's `id`, or the signed `webhook-id` of one that has none.
   */
  readonly id: string
  readonly scheme: Scheme
  /** The signed time, Unix seconds; A has none. */
  readonly timestamp: number | undefined
}

export interface ReceiverOptions<Event = WebhookEvent> extends VerifyRules {
  /**
   * Your work, once per event. When it throws, the answer is 500, nothing is remembered and the
   * sender tries again. Be quick: the sender waits 15 s by default; put long work in a queue of
   * your own.
   */
  readonly onEvent: (event: Event, context: DeliveryContext) => unknown
  /** Default: {@link memoryStore}. */
  readonly store?: EventStore | undefined
  /**
   * Drop an event that is older (by `created`) than the newest one handled of the same object:
   * right where `onEvent` stores the object's state, because order is not guaranteed. Set it to
   * false where every event counts as a fact of its own. Equal times are never stale. Default true.
   */
  readonly dropStale?: boolean | undefined
  /** An event that was answered 200 without `onEvent`. */
  readonly onDropped?: (
    event: Event,
    reason: 'duplicate' | 'stale',
    context: DeliveryContext,
  ) => unknown
  /** What `onEvent` or the store threw. Default: `console.error`. */
  readonly onError?: (error: unknown) => unknown
  /** Longest body read, in bytes. Default 1 MiB; an event has 256 KiB at most. */
  readonly maxBodyBytes?: number | undefined
}

/** An answer before it has the form of a runtime: `{received: true}`, or `{error: code}`. */
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
 * The heart of every adapter. It never rejects: what goes wrong on the receiver's side is told to
 * `onError` and answered 500, so that the sender keeps the event.
 *
 * @throws TypeError at once when `secrets` is empty.
 */
export function deliveries<Event = WebhookEvent>(options: ReceiverOptions<Event>): Deliver {
  secretsOf(options.secrets)
  const store = options.store ?? memoryStore()
  const onError = options.onError ?? ((error) => console.error(error))
  // The same event twice at once: the second waits for the first and shares its fate.
  const running = new Map<string, Promise<void>>()

  const once = async (event: Event, context: DeliveryContext): Promise<void> => {
    const about = objectOf(event)
    if (await store.has(context.id))
      return void (await options.onDropped?.(event, 'duplicate', context))
    if (about && options.dropStale !== false) {
      const newest = await store.newest(about.object)
      if (newest !== undefined && about.created < newest) {
        return void (await options.onDropped?.(event, 'stale', context))
      }
    }
    await options.onEvent(event, context)
    await store.add(context.id, about)
  }

  return async (headers, body) => {
    try {
      const [event, context] = await verifiedEvent<Event>(headers, body, options)
      let work = running.get(context.id)
      if (!work) {
        work = once(event, context).finally(() => running.delete(context.id))
        running.set(context.id, work)
      }
      await work
      return { status: 200, body: { received: true } }
    } catch (error) {
      if (error instanceof WebhookVerificationError) return refusal(400, error.code)
      await onError(error)
      return refusal(500, 'handler_failed')
    }
  }
}

async function verifiedEvent<Event>(
  headers: HeadersLike,
  body: Bytes,
  rules: VerifyRules,
): Promise<[Event, DeliveryContext]> {
  const { event, scheme, timestamp, id } = await verify<{ id?: unknown }>({
    ...rules,
    headers,
    body,
  })
  const own = typeof event === 'object' && event !== null ? event.id : undefined
  const name = typeof own === 'string' && own !== '' ? own : id
  if (typeof event !== 'object' || event === null || name === undefined) {
    throw new WebhookVerificationError('invalid_event', 'The signed body is not an event.')
  }
  return [event as Event, { id: name, scheme, timestamp }]
}

/** Which object an event is about: ids are unique within a type and a mode only. */
function objectOf(event: unknown): { object: string; created: number } | undefined {
  const { type, created, livemode, data } = event as Partial<WebhookEvent>
  const id = data?.object?.id
  if (typeof type !== 'string' || typeof created !== 'number') return undefined
  if (typeof id !== 'string' && typeof id !== 'number') return undefined
  const noun = type.slice(0, Math.max(type.lastIndexOf('.'), 0)) || type
  return { object: `${livemode === true ? 'live' : 'test'}:${noun}:${id}`, created }
}
