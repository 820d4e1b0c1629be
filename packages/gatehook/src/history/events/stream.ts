/**
 * `GET /events/stream` (§9.11): new events as server-sent events. `Last-Event-ID` resumes after
 * the event with that id, without a gap. `feed.ts` reads the events and defines their order.
 */

import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { FeedCursor } from '../../platform/storage/commit-feed.ts'
import type { Answer, Call, Route, Stream } from '../../protocol/http/call.ts'
import { createEventStreams } from '../../protocol/http/event-stream.ts'
import { implement } from '../../protocol/http/operation.ts'
import type { RenderObject } from './event.ts'
import { matchesAny } from './event-pattern.ts'
import type { Feed } from './feed.ts'
import type { EventOperations } from './operations.ts'
import { servedVersion } from './routes.ts'
import type { Sink } from './store.ts'
import { createMessages, type WriteMessages } from './stream-messages.ts'
import type { EventCells, ReadableTypes } from './view.ts'

/** How often a stream reads the feed for events of other nodes. */
const POLL_MS = 500
/** After a read that may pass a transaction of another customer at the next one. */
const UNDECIDED_POLL_MS = 100
const HEARTBEAT_MS = 15_000
/** Events of all customers that a stream passes in a millisecond, on SQLite. */
const PASSED_PER_MS = 4_000

/**
 * Wakes the streams of a customer and mode when an event of theirs commits on this node. They poll
 * for events of other nodes.
 */
export interface EventSignal {
  /** A sink of the recorder. */
  readonly sink: Sink
  /** Resolves at the next event of `scope`, after `ms` of real time, or when `signal` aborts. */
  wait(scope: Scope, ms: number, signal: AbortSignal): Promise<void>
}

export function createEventSignal(): EventSignal {
  const waiting = new Map<Scope, Set<() => void>>()
  return {
    async sink(tx, { scope }) {
      tx.afterCommit(() => {
        for (const wake of [...(waiting.get(scope) ?? [])]) wake()
      })
    },
    wait: (scope, ms, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve()
        const wakes = waiting.get(scope) ?? new Set()
        const wake = () => {
          clearTimeout(timer)
          wakes.delete(wake)
          if (wakes.size === 0) waiting.delete(scope)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        const timer = setTimeout(wake, ms)
        timer.unref()
        waiting.set(scope, wakes.add(wake))
        signal.addEventListener('abort', wake)
      }),
  }
}

export interface StreamDeps {
  readonly operations: Pick<EventOperations, 'stream'>
  readonly feed: Feed
  readonly eventSignal: EventSignal
  readonly render: RenderObject
  readonly readableTypes: ReadableTypes
  /** Returns the version that serves callers pinned to `version` now. */
  readonly effective?: (version: string) => string
  /** Returns monotonic milliseconds. */
  readonly elapsedMs: () => number
  readonly log: Log
}

export function streamRoute(deps: StreamDeps): Route {
  const writeMessages = createMessages(deps.render)
  const streams = createEventStreams({ log: deps.log, failed: 'an event stream failed' })
  return implement(
    deps.operations.stream,
    async (call, _, { types: patterns }): Promise<Answer> => {
      streams.admit(call)
      const cursor = await startCursor(deps.feed, call)
      return streams.respond(call, (out) =>
        sendEvents(deps, { call, out, cursor, patterns, writeMessages }),
      )
    },
  )
}

/** Returns where the stream begins: after `Last-Event-ID`, or at the end of the feed. */
async function startCursor(feed: Feed, call: Call): Promise<FeedCursor> {
  const lastId = call.headers['last-event-id']
  if (lastId === undefined || lastId === '') return feed.end(call.principal!.scope)
  const cursor = typeof lastId === 'string' && (await feed.cursorOf(call.principal!.scope, lastId))
  if (!cursor) throw new Failure('invalid_request', 'Last-Event-ID is not the id of an event.')
  return cursor
}

interface OpenStream {
  readonly call: Call
  readonly out: Stream
  readonly cursor: FeedCursor
  readonly patterns: readonly string[] | undefined
  readonly writeMessages: WriteMessages
}

/** Sends events until the stream closes. */
async function sendEvents(
  { feed, eventSignal, elapsedMs, readableTypes, effective }: StreamDeps,
  { call, out, cursor: start, patterns, writeMessages }: OpenStream,
): Promise<void> {
  let cursor = start
  let writtenAtMs = elapsedMs()
  let passedMs = 0
  const pace = call.startPace(false, { elapsedMs: () => passedMs })
  while (!out.closed.aborted) {
    const principal = call.principal!
    const readable = readableTypes(principal)
    const includes = (type: string) =>
      readable?.includes(type) !== false && (!patterns || matchesAny(patterns, type))
    const batch = await feed.after(principal.scope, cursor, includes)
    cursor = batch.cursor
    passedMs += batch.passed / PASSED_PER_MS
    await pace()
    const rows = batch.rows as unknown as EventCells[]
    const messages = await writeMessages(rows, servedVersion(call, effective), call)
    if (messages !== '' || elapsedMs() - writtenAtMs >= HEARTBEAT_MS) {
      writtenAtMs = elapsedMs()
      if (!out.write(messages || ': still here\n\n')) await out.drained()
    }
    const pollMs = batch.isUndecided ? UNDECIDED_POLL_MS : POLL_MS
    if (!batch.hasMore) await eventSignal.wait(principal.scope, pollMs, out.closed)
  }
}
