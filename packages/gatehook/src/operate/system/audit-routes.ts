/**
 * The audit trail over HTTP (§13, §18.9): the list, and a stream that follows it. A row joins the
 * hash chain after its commit, and its place there, `seq`, has no gap. So a reader that continues
 * after the last `seq` misses no row, even one that committed late.
 */
import { setTimeout as delay, setImmediate as nextTick } from 'node:timers/promises'
import { readEnd } from '../../history/audit/chain-store.ts'
import {
  auditCollection,
  auditView,
  findEntriesAfter,
  seqOf,
} from '../../history/audit/collection.ts'
import type { AuditTrail } from '../../history/audit/trail.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { Call, Route, Stream } from '../../protocol/http/call.ts'
import { createEventStreams } from '../../protocol/http/event-stream.ts'
import { implement } from '../../protocol/http/operation.ts'
import { parameterFailure, Query } from '../../protocol/http/query.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import { auditOperations as operations } from './operations.ts'

const ORDER = 'seq'

/** Replaces `after` by the filter and the order that it means. */
function afterSeq(call: Call, seq: number): Call {
  const { entries } = call.query
  const rest = entries.toSpliced(
    entries.findIndex(([name]) => name === 'after'),
    1,
  )
  const sort = call.query.get('sort') ?? ORDER
  if (sort !== ORDER) throw parameterFailure('invalid_parameter', 'sort', `is ${ORDER} with after`)
  const others = rest.filter(([name]) => name !== 'sort')
  const query = new Query([...others, [`${ORDER}[gt]`, String(seq)], ['sort', ORDER]])
  return Object.create(call, { query: { value: query } }) as Call
}

/** Lists the trail. It first appends pending rows to the chain. */
export const auditRoute = (list: Lister, trail: Pick<AuditTrail, 'appendForReader'>): Route =>
  implement(operations.list, async (call, _, { after }) => {
    await trail.appendForReader()
    return list(after === undefined ? call : afterSeq(call, after), auditCollection, auditView)
  })

/** How often a stream reads the trail. */
const POLL_MS = 500
const HEARTBEAT_MS = 15_000
/** Rows that a stream reads at once. */
const BATCH_ROWS = 100

interface AuditStreamDeps {
  readonly db: Database
  readonly trail: Pick<AuditTrail, 'appendForReader'>
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly log: Log
}

/** Returns the `seq` after which a stream begins; undefined: at the end of the trail. */
function startOf(call: Call, after: number | undefined): number | undefined {
  const lastId = call.headers['last-event-id']
  if (lastId === undefined || lastId === '') return after
  if (typeof lastId === 'string' && /^\d{1,15}$/.test(lastId)) return Number(lastId)
  throw new Failure('invalid_request', 'Last-Event-ID is not the seq of an audit entry.')
}

/** Streams the rows that join the chain. `Last-Event-ID` resumes without a gap. */
export function auditStreamRoute(deps: AuditStreamDeps): Route {
  const streams = createEventStreams({ log: deps.log, failed: 'an audit stream failed' })
  return implement(operations.stream, async (call, _, { after }) => {
    const start = startOf(call, after)
    streams.admit(call)
    await deps.trail.appendForReader()
    const seq = start ?? (await readEnd(deps.db, 'head'))?.seq ?? 0
    return streams.respond(call, (out) => sendEntries(deps, out, seq))
  })
}

/** Sends entries until the stream closes. */
async function sendEntries(
  { db, trail, clock }: AuditStreamDeps,
  out: Stream,
  start: number,
): Promise<void> {
  let seq = start
  let writtenAtMs = clock.elapsedMs()
  while (!out.closed.aborted) {
    await trail.appendForReader()
    const rows = await findEntriesAfter(db, seq, BATCH_ROWS)
    const messages = rows.map((row) => `id: ${seqOf(row)}\ndata: ${auditView.item(row, {})}\n\n`)
    seq = rows.length === 0 ? seq : seqOf(rows.at(-1)!)
    if (messages.length > 0 || clock.elapsedMs() - writtenAtMs >= HEARTBEAT_MS) {
      writtenAtMs = clock.elapsedMs()
      const text = messages.length === 0 ? ': still here\n\n' : messages.join('')
      if (!out.write(text)) await out.drained()
    }
    await nextTick() // other requests run between two batches
    if (messages.length === BATCH_ROWS) continue
    await delay(POLL_MS, undefined, { signal: out.closed, ref: false }).catch(() => undefined)
  }
}
