/** `GET /admin/attention`, and `PUT /admin/attention/{id}`, which puts an item off. */
import { type AuditContext, actorOf, recordAudit } from '../../history/audit/store.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { resolveWithin } from '../../kernel/resolve-within.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Database } from '../../platform/storage/database.ts'
import { whileAvailable } from '../../platform/storage/storage-failure.ts'
import type { Call, Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import type { Perform } from '../../protocol/idempotency/perform.ts'
import * as store from './attention-store.ts'
import { type AttentionItem, monitoringOperations as operations } from './operations.ts'

/** Items that an operator can put off at once, and for how long. */
const DELAYS_MAX = 500
const DELAY_MAX_MS = 30 * 86_400_000
/** While the primary of the database is away, a list waits no longer for it. */
const WAIT_AWAY_MS = 300
/** A list waits no longer for records in memory to be stored. */
const WAIT_MAX_MS = 5_000
const NO_DELAYS: ReadonlyMap<string, number> = new Map()
const ITEM_ID = /^[a-z_]{1,40}\.[\w.:@-]{1,200}$/

export interface AttentionRouteOptions {
  readonly db: Pick<Database, 'all' | 'get' | 'arrays' | 'fault'>
  readonly perform: Perform
  readonly audit: AuditContext
  readonly clock: Clock
  readonly readAttention: () => Promise<AttentionItem[]>
  /** Stores the records and counts that this node has in memory. */
  readonly flush: () => Promise<void>
}

/** Each operator, and each key, has its own list. */
const readerOf = ({ principal }: Call): string => `${principal!.kind} ${principal!.subject}`

export function attentionRoutes(options: AttentionRouteOptions): Route[] {
  const { db, perform, audit, clock, readAttention, flush } = options
  return [
    implement(operations.attention, async (call) => {
      const listed = store.listDelays(db, readerOf(call), clock.now())
      const read = Promise.all([whileAvailable(listed, NO_DELAYS), flush()])
      const beganMs = clock.elapsedMs()
      const isLate = () => db.fault() !== undefined || clock.elapsedMs() - beganMs >= WAIT_MAX_MS
      let prepared: Awaited<typeof read> | undefined
      do prepared = await resolveWithin(WAIT_AWAY_MS, read)
      while (!prepared && !isLate())
      const delays = prepared?.[0] ?? NO_DELAYS
      const items = await readAttention()
      const data = items.filter(({ id }) => !delays.has(id))
      const delayed = items.length - data.length
      const page = { data, delayed, next_cursor: null, has_more: false }
      return respond(operations.attention, page, { 'cache-control': 'no-store' })
    }),
    implement(operations.delayAttention, (call, { until }) => {
      const id = call.params.id!
      if (!ITEM_ID.test(id)) throw new Failure('not_found')
      const now = clock.now()
      return perform(call, async (tx) => {
        const operator = readerOf(call)
        await store.deleteEndedDelays(tx, now)
        if ((await store.countDelays(tx, operator)) >= DELAYS_MAX) {
          throw new Failure('limit_reached', `At most ${DELAYS_MAX} items can be put off.`)
        }
        const end = Math.min(until, now + DELAY_MAX_MS)
        await store.setDelay(tx, operator, id, end)
        const detail = { until: isoTime(end) }
        const entry = { actor: actorOf(call), action: 'attention.delay', target: id, detail }
        await recordAudit(tx, entry, audit)
        return respond(operations.delayAttention, { id, until: isoTime(end) })
      })
    }),
  ]
}
