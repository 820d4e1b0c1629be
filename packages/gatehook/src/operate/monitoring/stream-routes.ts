/**
 * `GET /admin/stream`: one stream of server-sent events for all live topics of the console. The
 * name of an event is its topic. `Last-Event-ID` resumes the topic `requests`. A reader that is too
 * slow gets `dropped` events with the number of messages that it missed.
 */

import { customerIdsOf } from '../../identity/access/customer-reader.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import type { Reader } from '../../platform/storage/database.ts'
import type { Answer, Call, Route, Stream } from '../../protocol/http/call.ts'
import { createEventStreams } from '../../protocol/http/event-stream.ts'
import { implement } from '../../protocol/http/operation.ts'
import { type LiveHub, type LiveMessage, LiveSubscription, TOPICS, type Topic } from './live-hub.ts'
import { monitoringOperations } from './operations.ts'
import { countRequestsAfter, type ListedRequest, readRequestsAfter } from './request-list.ts'
import type { MonitoringStore } from './store.ts'

const operation = monitoringOperations.stream
/** How long a stream waits for messages before it looks whether a heartbeat is due. */
const WAIT_MS = 1000
const HEARTBEAT_MS = 15_000
/** Requests that a resumed stream repeats; the others count as dropped. */
const RESUMED_MAX = 200

export interface StreamRouteOptions {
  readonly hub: LiveHub
  readonly store: MonitoringStore
  /** The engine's database, for the external ids of customers. */
  readonly db: Reader
  /** Returns the JSON of a request in streams. */
  readonly requestItem: (record: ListedRequest) => unknown
  /** Reads the present state of a topic, with which a stream begins; undefined: it has none. */
  readonly readState: (topic: Topic) => Promise<unknown>
  /** Stores the records and counts that this node has in memory. */
  readonly flush: () => Promise<void>
  readonly elapsedMs: () => number
  readonly log: Log
}

export function streamRoute(options: StreamRouteOptions): Route {
  const streams = createEventStreams({ log: options.log, failed: 'a live stream failed' })
  return implement(
    operation,
    async (call, _, { topics: requestedTopics = TOPICS, warnings, ...query }): Promise<Answer> => {
      const { customer } = query
      const filters = {
        ...query,
        customer: customer && (await customerIdsOf(options.db, customer)),
      }
      const topics = new Set(requestedTopics)
      const accepts = messageFilter(filters, warnings)
      const after = readLastId(call)
      streams.admit(call)
      return streams.respond(call, (out) => {
        const subscription = new LiveSubscription(topics, accepts)
        const leaveHub = options.hub.add(subscription)
        return sendMessages(options, { out, subscription, after, accepts }).finally(leaveHub)
      })
    },
  )
}

/** A filter applies to the messages that have its member; others pass. */
function messageFilter(
  filters: Readonly<Record<string, string | undefined>>,
  hasWarnings: boolean | undefined,
): (message: LiveMessage) => boolean {
  const expected = Object.entries(filters).filter((entry): entry is [string, string] =>
    Boolean(entry[1]),
  )
  const matchesOne = (actual: unknown, value: string): boolean => {
    if (value === 'none' && actual === null) return true
    return /^[1-5]xx$/.test(value) ? String(actual)[0] === value[0] : String(actual) === value
  }
  const matches = (actual: unknown, values: string): boolean =>
    values.split(',').some((value) => matchesOne(actual, value))
  return ({ topic, data }) => {
    if (topic !== 'requests' && topic !== 'deliveries') return true
    const members = data as Readonly<Record<string, unknown>>
    if (topic === 'requests' && hasWarnings !== undefined) {
      if (Number(members.warnings) > 0 !== hasWarnings) return false
    }
    const credential = members.credential as { readonly id?: unknown } | null | undefined
    return expected.every(([name, value]) => {
      if (name === 'key_id' && topic === 'requests') return matches(credential?.id, value)
      return !(name in members) || matches(members[name], value)
    })
  }
}

function readLastId({ headers }: Call): number | undefined {
  const text = headers['last-event-id']
  if (text === undefined || text === '') return undefined
  if (typeof text === 'string' && /^\d{1,16}$/.test(text)) return Number(text)
  throw new Failure('invalid_request', 'Last-Event-ID is not the id of an event.')
}

interface LiveStream {
  readonly out: Stream
  readonly subscription: LiveSubscription
  readonly after: number | undefined
  readonly accepts: (message: LiveMessage) => boolean
}

/** Sends messages until the stream closes. */
async function sendMessages(options: StreamRouteOptions, stream: LiveStream): Promise<void> {
  const { elapsedMs } = options
  const { out, subscription } = stream
  let writtenAtMs = elapsedMs()
  for (const message of await readFirstMessages(options, stream)) out.write(textOf(message))
  while (!out.closed.aborted) {
    const { messages, dropped } = subscription.take()
    let text = messages.map(textOf).join('')
    if (Object.keys(dropped).length > 0)
      text += `event: dropped\ndata: ${JSON.stringify(dropped)}\n\n`
    if (text !== '' || elapsedMs() - writtenAtMs >= HEARTBEAT_MS) {
      writtenAtMs = elapsedMs()
      if (!out.write(text === '' ? ': still here\n\n' : text)) await out.drained()
    }
    await subscription.wait(WAIT_MS, out.closed)
  }
}

const textOf = ({ topic, id, data }: LiveMessage): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${topic}\ndata: ${JSON.stringify(data)}\n\n`

/** Returns the present states of the topics, and the requests after `Last-Event-ID`. */
async function readFirstMessages(
  { readState, store, flush, requestItem }: StreamRouteOptions,
  { subscription, after, accepts }: LiveStream,
): Promise<LiveMessage[]> {
  const messages: LiveMessage[] = []
  for (const topic of subscription.topics) {
    const data = await readState(topic)
    if (data !== undefined) messages.push({ topic, data })
  }
  if (after === undefined || !subscription.topics.has('requests')) return messages
  await flush()
  const waiting = subscription.take().messages // they are in the store, too
  const rows = await readRequestsAfter(store, after, RESUMED_MAX)
  const missed = (await countRequestsAfter(store, after)) - rows.length
  if (missed > 0) subscription.drop('requests', missed)
  const ids = new Set(rows.map(({ position }) => position))
  for (const row of rows) {
    const message = { topic: 'requests', id: row.position, data: requestItem(row) } as const
    if (accepts(message)) messages.push(message)
  }
  return [...messages, ...waiting.filter(({ id }) => id === undefined || !ids.has(id))]
}
