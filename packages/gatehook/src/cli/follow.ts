/**
 * Follows the events of a running node without a gap: where the stream breaks, it is opened again
 * behind the last event that was handled.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { CommandError } from './mistake.ts'
import { type OpenedStream, openStream } from './remote.ts'
import { eventReader } from './server-sent-events.ts'

/** An event as the stream tells it: `data` is the body a receiver gets, byte for byte. */
export interface FollowedEvent {
  readonly id: string
  readonly data: string
}

export interface Following {
  readonly url: string
  /** `order.*,user.created`; undefined: all. */
  readonly types: string | undefined
  /** The event to start behind. */
  readonly after: string
  /** A key that is good now; asked again where one is refused that was good before. */
  key(renew: boolean): Promise<string>
  /** Told of each connection, and of each one lost, with the sentence why. */
  connected(): void
  lost(why: string, againMs: number): void
  /** One after the other; the next event waits. */
  handle(event: FollowedEvent): Promise<void>
  readonly signal: AbortSignal
}

const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 10_000
/** The node sends a sign of life every 15 s; where none comes, the connection is dead. */
const SILENCE_MS = 40_000

/** Ends when `signal` is aborted. Throws a `CommandError` for what no second try would mend. */
export async function followEvents(following: Following): Promise<void> {
  const { signal } = following
  let last = following.after
  let pauseMs = FIRST_PAUSE_MS
  let worked = false
  let renew = false
  const handle = async (event: FollowedEvent) => {
    await following.handle(event)
    last = event.id
  }
  while (!signal.aborted) {
    let why = 'the stream ended'
    let leastMs = 0
    try {
      const opened = await open(following, await following.key(renew), last)
      renew = false
      if (opened.text) {
        worked = true
        pauseMs = FIRST_PAUSE_MS
        following.connected()
        await read(opened.text, handle, signal)
      } else {
        why = opened.message
        renew = opened.status === 401 || opened.status === 403
        leastMs = (opened.retryAfter ?? 0) * 1000
        // Refused from the start: the key or a parameter is wrong, and stays so.
        if (!passing(opened.status) && !(renew && worked)) throw new CommandError(why)
        worked = false
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof CommandError && !worked) throw error
      why = error instanceof CommandError ? error.message : 'the connection was lost'
    }
    if (signal.aborted) return
    const againMs = Math.max(pauseMs, leastMs)
    following.lost(why, againMs)
    await pause(againMs, undefined, { signal }).catch(() => undefined)
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)
  }
}

const passing = (status: number) => status === 408 || status === 429 || status >= 500

function open({ url, types, signal }: Following, key: string, last: string): Promise<OpenedStream> {
  const query = types === undefined ? '' : `?types=${encodeURIComponent(types)}`
  const headers = { 'x-api-key': key, 'last-event-id': last }
  return openStream(url, `/events/stream${query}`, headers, signal)
}

/** Ends where the stream does, or says nothing for too long. */
async function read(
  text: AsyncIterable<string>,
  handle: (event: FollowedEvent) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const take = eventReader()
  const pieces = text[Symbol.asyncIterator]()
  try {
    for (;;) {
      const piece = await inTime(pieces.next())
      if (piece === undefined || piece.done || signal.aborted) return
      for (const { id, data } of take(piece.value)) {
        if (id === undefined || signal.aborted) continue
        await handle({ id, data })
      }
    }
  } finally {
    // Not awaited: a dead connection may take its time to say so.
    pieces.return?.()?.catch(() => undefined)
  }
}

async function inTime<T>(next: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, SILENCE_MS, undefined)
  })
  next.catch(() => undefined) // it may fail after nobody waits any more
  return Promise.race([next, silence]).finally(() => clearTimeout(timer))
}
