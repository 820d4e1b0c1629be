/**
 * Follows the events of a running node without a gap: after a lost connection, it reopens the
 * stream after the last handled event.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { CommandError, EXIT } from './errors.ts'
import { type OpenedStream, openStream } from './http-client.ts'
import { eventReader } from './server-sent-events.ts'

/** An event of the stream: `data` is the body of a delivery, byte for byte. */
export interface FollowedEvent {
  readonly id: string
  readonly name: string | undefined
  readonly data: string
}

export interface FollowOptions {
  readonly url: string
  /** Path and query of the stream: `/events/stream?types=thing.*`. */
  readonly path: string
  /** Id of the event before the first one; undefined: the stream begins now. */
  readonly after: string | undefined
  /** Returns a key; with `renew`, another one, because the node rejected the last. */
  key(renew: boolean): Promise<string>
  connected(): void
  /** Called for each lost connection, with the delay before the next attempt. */
  lost(reason: string, retryMs: number): void
  /** Called for one event at a time. */
  handle(event: FollowedEvent): Promise<void>
  readonly signal: AbortSignal
}

const FIRST_DELAY_MS = 500
const MAX_DELAY_MS = 10_000
/** The node sends a comment every 15 s. After this time without data, the connection is lost. */
const MAX_SILENCE_MS = 40_000

/** Resolves when `signal` aborts. Throws `CommandError` for a rejection that a retry cannot fix. */
export async function followEvents(options: FollowOptions): Promise<void> {
  const { signal } = options
  let lastId = options.after
  let delayMs = FIRST_DELAY_MS
  let wasConnected = false
  let renewKey = false
  const handle = async (event: FollowedEvent) => {
    await options.handle(event)
    lastId = event.id
  }
  while (!signal.aborted) {
    let reason = 'the stream ended'
    let retryAfterMs = 0
    try {
      const stream = await open(options, await options.key(renewKey), lastId)
      renewKey = false
      if (stream.text) {
        wasConnected = true
        delayMs = FIRST_DELAY_MS
        options.connected()
        await readEvents(stream.text, handle, signal)
      } else {
        reason = stream.message
        renewKey = stream.status === 401 || stream.status === 403
        retryAfterMs = (stream.retryAfterS ?? 0) * 1000
        // Rejected before the first connection: the key or a parameter is wrong.
        if (!isTransient(stream.status) && !(renewKey && wasConnected)) {
          throw new CommandError(reason, stream.status === 400 ? EXIT.usage : EXIT.failed)
        }
        wasConnected = false
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof CommandError && !wasConnected) throw error
      reason = error instanceof CommandError ? error.message : 'the connection was lost'
    }
    if (signal.aborted) return
    const retryMs = Math.max(delayMs, retryAfterMs)
    options.lost(reason, retryMs)
    await delay(retryMs, undefined, { signal }).catch(() => undefined)
    delayMs = Math.min(delayMs * 2, MAX_DELAY_MS)
  }
}

const isTransient = (status: number) => status === 408 || status === 429 || status >= 500

function open(
  { url, path, signal }: FollowOptions,
  key: string,
  lastId: string | undefined,
): Promise<OpenedStream> {
  const position = lastId === undefined ? {} : { 'last-event-id': lastId }
  return openStream(url, path, { 'x-api-key': key, ...position }, signal)
}

/** Resolves when the stream ends, or sends no data for 40 s. */
async function readEvents(
  text: AsyncIterable<string>,
  handle: (event: FollowedEvent) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const parse = eventReader()
  const chunks = text[Symbol.asyncIterator]()
  try {
    for (;;) {
      const chunk = await withinSilence(chunks.next())
      if (chunk === undefined || chunk.done || signal.aborted) return
      for (const { id, name, data } of parse(chunk.value)) {
        if (id === undefined || signal.aborted) continue
        await handle({ id, name, data })
      }
    }
  } finally {
    // Not awaited: a lost connection may close late.
    chunks.return?.()?.catch(() => undefined)
  }
}

/** Resolves with undefined after `MAX_SILENCE_MS`. */
async function withinSilence<T>(next: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, MAX_SILENCE_MS, undefined)
  })
  next.catch(() => undefined) // it may reject after the timeout
  return Promise.race([next, silence]).finally(() => clearTimeout(timer))
}
