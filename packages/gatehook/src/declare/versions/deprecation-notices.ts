/**
 * Deprecation events for customers that still call a version (§8.10). The calendar says which
 * notices are due. A claim in the transaction of the event lets each customer get a notice once,
 * from one node.
 */
import type { NewEvent } from '../../history/events/event.ts'
import type { RecordEvent } from '../../history/events/store.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Scope } from '../../kernel/principal.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Database } from '../../platform/storage/database.ts'
import { type Calendar, stateAt } from './calendar.ts'
import { representVersion } from './calendar-update.ts'
import { upgradeUrl } from './signals.ts'
import { type CallerScope, claimNotice, listUnnotifiedCallers } from './store.ts'
import type { UsageCounter } from './usage-counter.ts'
import type { VersionStatus, VersionStatuses } from './version-statuses.ts'

const DAY_MS = 86_400_000
/** Days before the sunset, the nearest first. */
const APPROACHING_DAYS = [1, 7, 30, 90]
/** Customers that called a version within this period get its notices. */
const RECENT_DAYS = 30
/** Customers per transaction. */
const BATCH_SIZE = 500

export interface DeprecationNotice {
  readonly type: `api_version.${'deprecated' | 'sunset_approaching' | 'retired'}`
  /** Includes the announced instant, so that a sunset that moves causes a new notice. */
  readonly key: string
  /** For an approaching sunset. */
  readonly days?: number
}

/** Returns the notices that callers should have. Of several missed ones, the nearest. Pure. */
export function dueNotices(calendar: Calendar, now: number): DeprecationNotice[] {
  const { deprecated_at, sunset_at } = calendar
  const state = stateAt(calendar, now)
  if (state === 'supported') return []
  if (state === 'retired') return [{ type: 'api_version.retired', key: `retired ${sunset_at}` }]
  const due: DeprecationNotice[] = [
    { type: 'api_version.deprecated', key: `deprecated ${deprecated_at}` },
  ]
  if (sunset_at === null) return due
  const days = APPROACHING_DAYS.find((limit) => sunset_at - now <= limit * DAY_MS)
  if (days === undefined) return due
  const key = `sunset_approaching ${days} ${sunset_at}`
  return [...due, { type: 'api_version.sunset_approaching', key, days }]
}

function noticeEvent(notice: DeprecationNotice, status: VersionStatus, lastMs: number): NewEvent {
  const { version, state, deprecated_at, sunset_at, successor, migration_guide } =
    representVersion(status)
  const object = JSON.stringify({
    id: version,
    status: state,
    deprecated_at,
    sunset_at,
    ...(notice.days !== undefined && { days_left: notice.days }),
    successor,
    migration_guide,
    upgrade_url: upgradeUrl(status),
    last_called_at: isoTime(lastMs),
  })
  return { type: notice.type, collection: undefined, objectId: undefined, object }
}

interface NoticeSenderDeps {
  readonly db: Database
  readonly clock: Clock
  readonly statuses: VersionStatuses
  readonly usage: UsageCounter
  readonly record: RecordEvent
}

/**
 * Creates a function that records the due events and returns their number. When a notice becomes
 * due, it queries the database for all recent callers. After that it notifies the callers that
 * this node serves.
 */
export function createNoticeSender(deps: NoticeSenderDeps): () => Promise<number> {
  const { db, clock, statuses, usage, record } = deps
  /** The notified scopes that this node has seen, by version and notice. */
  let notifiedScopes = new Map<string, Set<number>>()

  const recentSince = () => clock.now() - RECENT_DAYS * DAY_MS

  const send = (
    notice: DeprecationNotice,
    status: VersionStatus,
    callers: readonly CallerScope[],
  ): Promise<number> =>
    db.write(async (tx) => {
      let events = 0
      for (const { scope, lastMs } of callers) {
        const { version } = status
        if (!(await claimNotice(tx, version, notice.key, scope, clock.now()))) continue
        await record(tx, scope as Scope, noticeEvent(notice, status, lastMs))
        events++
      }
      return events
    })

  const sendToAll = async (
    notice: DeprecationNotice,
    status: VersionStatus,
    notified: Set<number>,
  ): Promise<number> => {
    await usage.flush()
    let events = 0
    for (;;) {
      const { version } = status
      const callers = await listUnnotifiedCallers(
        db,
        version,
        notice.key,
        recentSince(),
        BATCH_SIZE,
      )
      if (callers.length > 0) events += await send(notice, status, callers)
      for (const { scope } of callers) notified.add(scope)
      if (callers.length < BATCH_SIZE) return events
    }
  }

  return async () => {
    let events = 0
    const nextScopes = new Map<string, Set<number>>()
    for (const version of statuses.versions) {
      const status = statuses.statusOf(version)!
      const newCallers = usage.takeNewCallers(version)
      for (const notice of dueNotices(status.calendar, clock.now())) {
        const key = `${version} ${notice.key}`
        const notified = notifiedScopes.get(key) ?? new Set<number>()
        if (!notifiedScopes.has(key)) events += await sendToAll(notice, status, notified)
        const unnotifiedCallers = newCallers.filter(
          ({ scope, lastMs }) => !notified.has(scope) && lastMs >= recentSince(),
        )
        if (unnotifiedCallers.length > 0) events += await send(notice, status, unnotifiedCallers)
        for (const { scope } of unnotifiedCallers) notified.add(scope)
        nextScopes.set(key, notified)
      }
    }
    // After a failure above, the next round queries all callers again.
    notifiedScopes = nextScopes
    return events
  }
}
