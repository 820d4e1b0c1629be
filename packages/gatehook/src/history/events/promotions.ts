/**
 * Follows promotions of a standby (`platform/storage/postgres-timeline.ts`), and records which
 * events of this node the new primary lacks.
 */

import { startInterval } from '../../kernel/interval.ts'
import type { Log } from '../../kernel/log.ts'
import type { RecentItems } from '../../kernel/recent-items.ts'
import { ConstraintError, type Database, type Promotion } from '../../platform/storage/database.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'
import { type AuditContext, createAuditId, recordAudit } from '../audit/store.ts'
import { findLostEvents, type RecentEvent } from './lost-events.ts'

const RETRY_MS = 1_000
/** Events that one row of the audit trail lists. */
const LISTED_MAX = 100

interface PromotionFollower {
  readonly db: Database
  readonly log: Log
  /** Runs again after a failure: right after a promotion, connections break. */
  readonly report: (promotion: Promotion) => Promise<void>
}

/** Counts the promotions that this process has noticed. */
export function countPromotions(db: Pick<Database, 'onPromotion'>): {
  readonly metric: Metric
} {
  let count = 0
  db.onPromotion(() => count++)
  return {
    metric: {
      name: 'gatehook_database_promotions_total',
      help: 'Promotions of a standby of PostgreSQL that this node has noticed.',
      type: 'counter',
      read: () => [{ value: count }],
    },
  }
}

/** @returns Stops following. */
export function followPromotions({ db, log, report }: PromotionFollower): () => Promise<void> {
  const pending: Promotion[] = []
  db.onPromotion((promotion) => pending.push(promotion))
  return startInterval({
    intervalMs: RETRY_MS,
    async run() {
      while (pending[0]) {
        await report(pending[0])
        pending.shift()
      }
    },
    log,
    failure: 'the events that a promotion lost could not be determined yet',
  })
}

/** The first commit has recorded the row. */
function ignoreRecorded(error: unknown): void {
  if (!(error instanceof ConstraintError && error.kind === 'unique')) throw error
}

interface EventLossReport extends AuditContext {
  readonly db: Database
  readonly log: Log
  /** The events that this node has committed. */
  readonly recent: RecentItems<RecentEvent>
}

/**
 * Returns the report of committed events, as one row of the audit trail for each node. A commit
 * whose outcome is unknown is repeated with the same row.
 */
export function reportLostEvents({ db, log, recent, ...context }: EventLossReport) {
  let events: readonly RecentEvent[] = []
  let id: string | undefined
  return async ({ from, to }: Promotion): Promise<void> => {
    events = [...events, ...recent.take()]
    const lost = await findLostEvents(db, events)
    const listed = lost.slice(0, LISTED_MAX).map(({ id, type }) => ({ id, type }))
    const detail = { from, to, lost_events: lost.length, events: listed }
    const actor = { kind: 'system', id: 'database' } as const
    id ??= createAuditId(context.clock.now(), context.random)
    const entry = { actor, action: 'database.promoted', target: 'installation', detail, id }
    await db.write((tx) => recordAudit(tx, entry, context)).catch(ignoreRecorded)
    id = undefined
    events = []
    if (lost.length === 0) return
    log.warn(detail, 'the promoted standby lacks commits that this node had acknowledged')
  }
}
