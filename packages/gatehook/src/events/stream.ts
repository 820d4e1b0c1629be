/**
 * `GET /events/stream` (§9.11): events as they happen, as server-sent events. `Last-Event-ID`
 * resumes behind the event of that id, without a gap. What is read and in which order: `feed.ts`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Answer, Call, Route, Stream } from '../http/call.ts'
import { parameterFailure } from '../http/query.ts'
import { Failure } from '../kernel/failure.ts'
import type { Log } from '../kernel/log.ts'
import { customerNoOf, type Principal } from '../kernel/principal.ts'
import { createTurns, type TakeTurn } from '../kernel/turns.ts'
import type { View } from '../lists/collection.ts'
import type { Bell } from './bell.ts'
import type { RenderObject } from './event.ts'
import { matchesAny } from './event-pattern.ts'
import type { Feed, Place } from './feed.ts'
import { versionFor } from './routes.ts'
import { type EventCells, eventView, type ReadableTypes } from './view.ts'

const SCOPE = 'events:read'
/** Streams open at a time (§11.5): of one credential, one customer, this node. */
const PER_CREDENTIAL = 5
const PER_CUSTOMER = 20
const PER_NODE = 200
/** Events of other nodes are looked for this often. */
const LOOK_MS = 500
/** How often a credential is asked for again: a revoked one ends its stream (§3.10). */
const ASK_MS = 1000
const HEARTBEAT_MS = 15_000
/** Batches that are read at once: of one customer one, and customers take turns. */
const READING_AT_ONCE = 2

export interface StreamDeps {
  readonly feed: Feed
  readonly bell: Bell
  readonly render: RenderObject
  readonly readableTypes: ReadableTypes
  readonly effective?: (version: string) => string
  /** Who sent a call, as of now; undefined once its credential is good no more. */
  readonly identify: (call: Call) => Principal | undefined | Promise<Principal | undefined>
  /** Real milliseconds, monotonic. */
  readonly elapsedMs: () => number
  readonly log: Log
}

export function streamRoute(deps: StreamDeps): Route {
  const counts = streamCounts()
  const turns = createTurns(READING_AT_ONCE)
  return {
    path: '/events/stream',
    methods: {
      GET: {
        produces: ['text/event-stream'],
        async handle(call): Promise<Answer> {
          const wanted = wantedTypes(call)
          const principal = call.principal!
          const problem = counts.problemFor(principal)
          if (problem !== undefined) throw tooMany(problem)
          const place = await startOf(deps.feed, call)
          return {
            status: 200,
            headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
            stream(out) {
              if (counts.problemFor(principal)) return out.end() // many came at once
              const leave = counts.enter(principal)
              follow(deps, { call, out, place, wanted, turns })
                .catch((err: unknown) => {
                  // The client comes again with the last id it has seen.
                  deps.log.warn({ err, request_id: call.id }, 'a stream of events broke')
                })
                .finally(() => {
                  leave()
                  out.end()
                })
            },
          }
        },
      },
    },
  }
}

/** Counts open streams; each count has its bound. */
function streamCounts() {
  const open = new Map<string, number>()
  const boundsOf = ({ scope, kind, subject, customer }: Principal) => [
    { key: 'node', most: PER_NODE, what: 'this node' },
    { key: `customer ${customer}`, most: PER_CUSTOMER, what: 'a customer' },
    { key: `${scope} ${kind} ${subject}`, most: PER_CREDENTIAL, what: 'a credential' },
  ]
  const add = (key: string, by: 1 | -1) => {
    const left = (open.get(key) ?? 0) + by
    if (left > 0) open.set(key, left)
    else open.delete(key)
  }
  return {
    /** A sentence where no stream more may open; undefined: one may. */
    problemFor(principal: Principal): string | undefined {
      const full = boundsOf(principal).find(({ key, most }) => (open.get(key) ?? 0) >= most)
      return full && `At most ${full.most} streams of ${full.what} are open at a time.`
    },
    enter(principal: Principal): () => void {
      const keys = boundsOf(principal).map(({ key }) => key)
      for (const key of keys) add(key, 1)
      return () => {
        for (const key of keys) add(key, -1)
      }
    },
  }
}

const tooMany = (problem: string) =>
  new Failure('rate_limited', problem, { headers: { 'retry-after': '5' } })

const elsewhere = ['api_key', 'version', 'v', 'api-version']

/** `types=order.*,user.created`; undefined: all. */
function wantedTypes({ query }: Call): readonly string[] | undefined {
  const [repeated] = query.repeated()
  if (repeated !== undefined) throw parameterFailure('invalid_parameter', repeated, 'is repeated')
  for (const [name] of query.entries) {
    if (name === 'types' || elsewhere.includes(name)) continue
    throw parameterFailure('unknown_parameter', name, 'is not a parameter here')
  }
  return query.get('types')?.split(',')
}

async function startOf(feed: Feed, call: Call): Promise<Place> {
  const last = call.headers['last-event-id']
  if (last === undefined || last === '') return feed.end()
  const place = typeof last === 'string' && (await feed.placeOf(call.principal!.scope, last))
  if (!place) throw new Failure('invalid_request', 'Last-Event-ID is not the id of an event.')
  return place
}

interface Following {
  readonly call: Call
  readonly out: Stream
  readonly place: Place
  readonly wanted: readonly string[] | undefined
  readonly turns: TakeTurn
}

async function follow(deps: StreamDeps, following: Following): Promise<void> {
  const { call, out, wanted, turns } = following
  let { place } = following
  const { feed, bell, elapsedMs } = deps
  let principal = call.principal!
  let asked = elapsedMs()
  let written = elapsedMs()
  // The first bytes tell proxies and clients that it has begun.
  out.write('retry: 1000\n\n')
  while (!out.closed.aborted) {
    if (elapsedMs() - asked >= ASK_MS) {
      const now = await deps.identify(call)
      if (!now || !(now.scopes.has(SCOPE) || now.scopes.has('admin'))) return
      principal = now
      asked = elapsedMs()
    }
    const readable = deps.readableTypes(principal)
    const isWanted = (type: string) =>
      readable?.includes(type) !== false && (!wanted || matchesAny(wanted, type))
    const batch = await turns(customerNoOf(principal.scope), async () => {
      const read = await feed.after(principal.scope, place, isWanted)
      // Other requests run before the next batch, of this stream or another one.
      await nextTurn()
      return read
    })
    place = batch.place
    const view = eventView(versionFor(call, deps.effective), deps.render)
    const text = shown(batch.rows as unknown as EventCells[], view)
    if (text !== '' || elapsedMs() - written >= HEARTBEAT_MS) {
      written = elapsedMs()
      if (!out.write(text === '' ? ': still here\n\n' : text)) await out.drained()
    }
    if (!batch.more) await bell.wait(LOOK_MS, out.closed)
  }
}

const shown = (rows: readonly EventCells[], view: View): string =>
  rows.map((row) => `id: ${row[0]}\ndata: ${view.item(row, {})}\n\n`).join('')
