/**
 * The autopilot (§8.10): customers who still call a version hear of its end as events. Which notice
 * is due follows from the calendar; a claim in the database, in the transaction of the events, lets
 * one node of all send it.
 */
import type { NewEvent } from '../events/event.ts'
import type { RecordEvent } from '../events/store.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Scope } from '../kernel/principal.ts'
import { isoTime } from '../kernel/time.ts'
import type { Database } from '../storage/database.ts'
import type { Board, Standing } from './board.ts'
import { type Calendar, stateAt } from './calendar.ts'
import type { Ledger } from './ledger.ts'
import { upgradeUrl } from './signals.ts'
import { callersSince, claimNotice } from './store.ts'

const DAY_MS = 86_400_000
/** Days before the sunset; the nearest first. */
const APPROACHING_DAYS = [1, 7, 30, 90]
/** Who called within these days is told. */
const CALLED_WITHIN_DAYS = 30

export interface Notice {
  readonly type: `api_version.${'deprecated' | 'sunset_approaching' | 'retired'}`
  /** Names it for good, the announced instant included: a sunset that moves is told of again. */
  readonly key: string
  /** For an approaching sunset. */
  readonly days?: number
}

/** What callers should have heard by now. Of those missed in a gap, only the nearest. Pure. */
export function dueNotices(calendar: Calendar, now: number): Notice[] {
  const { deprecated_at, sunset_at } = calendar
  const state = stateAt(calendar, now)
  if (state === 'supported') return []
  if (state === 'retired') return [{ type: 'api_version.retired', key: `retired ${sunset_at}` }]
  const due: Notice[] = [{ type: 'api_version.deprecated', key: `deprecated ${deprecated_at}` }]
  if (sunset_at === null) return due
  const days = APPROACHING_DAYS.find((one) => sunset_at - now <= one * DAY_MS)
  if (days === undefined) return due
  const key = `sunset_approaching ${days} ${sunset_at}`
  return [...due, { type: 'api_version.sunset_approaching', key, days }]
}

const iso = (ms: number | null): string | null => (ms === null ? null : isoTime(ms))

function eventOf(notice: Notice, standing: Standing, lastMs: number): NewEvent {
  const { deprecated_at, sunset_at, successor, migration_guide } = standing.calendar
  const object = JSON.stringify({
    id: standing.version,
    status: standing.state,
    deprecated_at: iso(deprecated_at),
    sunset_at: iso(sunset_at),
    ...(notice.days !== undefined && { days_left: notice.days }),
    successor,
    migration_guide,
    upgrade_url: upgradeUrl(standing),
    last_called_at: isoTime(lastMs),
  })
  return { type: notice.type, collection: undefined, objectId: undefined, object }
}

export interface AutopilotDeps {
  readonly db: Database
  readonly clock: Clock
  readonly board: Board
  readonly ledger: Ledger
  readonly record: RecordEvent
}

/** Sends what is due and nobody has sent; gives how many events were recorded. */
export function createAutopilot({ db, clock, board, ledger, record }: AutopilotDeps) {
  /** Claimed by whomever, as far as this node knows: most looks need no database. */
  const settled = new Set<string>()

  const send = async (notice: Notice, standing: Standing): Promise<number> => {
    await ledger.flush()
    return db.write(async (tx) => {
      const now = clock.now()
      const { version } = standing
      if (!(await claimNotice(tx, version, notice.key, now))) return 0
      const callers = await callersSince(tx, version, now - CALLED_WITHIN_DAYS * DAY_MS)
      for (const { scope, last_at } of callers) {
        await record(tx, scope as Scope, eventOf(notice, standing, last_at))
      }
      return callers.length
    })
  }

  return async (): Promise<number> => {
    let events = 0
    for (const version of board.versions) {
      const standing = board.standing(version)!
      for (const notice of dueNotices(standing.calendar, clock.now())) {
        const name = `${version} ${notice.key}`
        if (settled.has(name)) continue
        events += await send(notice, standing)
        settled.add(name)
      }
    }
    return events
  }
}
