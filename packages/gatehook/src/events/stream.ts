/**
 * `GET /events/stream` (§9.11): new events as server-sent events. `Last-Event-ID` resumes after
 * the event with that id, without a gap. `feed.ts` reads the events and defines their order.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Answer, Call, Route, Stream } from '../http/call.ts'
import { createEventStreams } from '../http/event-stream.ts'
import { implement } from '../http/operation.ts'
import { Failure } from '../kernel/failure.ts'
import type { Log } from '../kernel/log.ts'
import { customerNoOf, type Principal } from '../kernel/principal.ts'
import { createTurns, type TakeTurn } from '../kernel/turns.ts'
import type { RenderObject } from './event.ts'
import { matchesAny } from './event-pattern.ts'
import type { Feed, FeedCursor } from './feed.ts'
import type { EventOperations } from './operations.ts'
import { servedVersion } from './routes.ts'
import type { Sink } from './store.ts'
import { type EventCells, eventView, type ReadableTypes } from './view.ts'

const SCOPE = 'events:read'
/** How often a stream reads the feed for events of other nodes. */
const POLL_MS = 500
/** How often a stream verifies its credential: a revoked one ends the stream (§3.10). */
const VERIFY_MS = 1000
const HEARTBEAT_MS = 15_000
/** Batches that are read at a time: one per customer, and customers take turns. */
const CONCURRENT_READS = 2

/** Wakes streams when an event of this node commits. They poll for events of other nodes. */
export interface EventSignal {
  /** A sink of the recorder. */
  readonly sink: Sink
  /** Resolves at the next event, after `ms` of real time, or when `signal` aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export function createEventSignal(): EventSignal {
  const waiting = new Set<() => void>()
  const wakeAll = () => {
    for (const wake of [...waiting]) wake()
  }
  return {
    async sink(tx) {
      tx.afterCommit(wakeAll)
    },
    wait: (ms, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve()
        const wake = () => {
          clearTimeout(timer)
          waiting.delete(wake)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        const timer = setTimeout(wake, ms)
        timer.unref()
        waiting.add(wake)
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
  /** Verifies the credential of a request again; undefined once it is no longer valid. */
  readonly identify: (call: Call) => Principal | undefined | Promise<Principal | undefined>
  /** Returns monotonic milliseconds. */
  readonly elapsedMs: () => number
  readonly log: Log
}

export function streamRoute(deps: StreamDeps): Route {
  const streams = createEventStreams({ log: deps.log, failed: 'an event stream failed' })
  const takeTurn = createTurns(CONCURRENT_READS)
  return implement(
    deps.operations.stream,
    async (call, _, { types: patterns }): Promise<Answer> => {
      streams.admit(call)
      const cursor = await startCursor(deps.feed, call)
      return streams.respond(call, (out) =>
        sendEvents(deps, { call, out, cursor, patterns, takeTurn }),
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
  readonly takeTurn: TakeTurn
}

/** Sends events until the client disconnects or its credential is no longer valid. */
async function sendEvents(
  { feed, eventSignal, elapsedMs, identify, readableTypes, effective, render }: StreamDeps,
  { call, out, cursor: start, patterns, takeTurn }: OpenStream,
): Promise<void> {
  let cursor = start
  let principal = call.principal!
  let verifiedAtMs = elapsedMs()
  let writtenAtMs = elapsedMs()
  while (!out.closed.aborted) {
    if (elapsedMs() - verifiedAtMs >= VERIFY_MS) {
      const current = await identify(call)
      if (!current || !(current.scopes.has(SCOPE) || current.scopes.has('admin'))) return
      principal = current
      verifiedAtMs = elapsedMs()
    }
    const readable = readableTypes(principal)
    const includes = (type: string) =>
      readable?.includes(type) !== false && (!patterns || matchesAny(patterns, type))
    const batch = await takeTurn(customerNoOf(principal.scope), async () => {
      const read = await feed.after(principal.scope, cursor, includes)
      // Other requests run before the next batch of any stream.
      await nextTurn()
      return read
    })
    cursor = batch.cursor
    const view = eventView(servedVersion(call, effective), render)
    const messages = (batch.rows as unknown as EventCells[]).map(
      (row) => `id: ${row[0]}\ndata: ${view.item(row, {})}\n\n`,
    )
    if (messages.length > 0 || elapsedMs() - writtenAtMs >= HEARTBEAT_MS) {
      writtenAtMs = elapsedMs()
      const text = messages.length === 0 ? ': still here\n\n' : messages.join('')
      if (!out.write(text)) await out.drained()
    }
    if (!batch.hasMore) await eventSignal.wait(POLL_MS, out.closed)
  }
}
