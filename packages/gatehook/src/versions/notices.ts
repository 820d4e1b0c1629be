/**
 * The autopilot (§8.10): customers who still call a version hear of its end as events. Which notice
 * is due follows from the calendar; a claim in the database, in the transaction of the event, lets
 * each customer have it once, whichever node sends it.
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
import { type CallerScope, claimNotice, untold } from './store.ts'

const DAY_MS = 86_400_000
/** Days before the sunset; the nearest first. */
const APPROACHING_DAYS = [1, 7, 30, 90]
/** Who called within these days is told. */
const CALLED_WITHIN_DAYS = 30
/** Scopes told in one transaction. */
const SLICE = 500

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

/**
 * Sends what is due to whom it concerns and who has not had it; gives how many events were
 * recorded. All who called lately are looked for when a notice becomes due; after that, whoever
 * this node serves is told when they call.
 */
export function createAutopilot({ db, clock, board, ledger, record }: AutopilotDeps) {
  /** By version and notice: the scopes that had it, as far as this node knows. */
  let heard = new Map<string, Set<number>>()

  const lately = () => clock.now() - CALLED_WITHIN_DAYS * DAY_MS

  const tell = (notice: Notice, standing: Standing, callers: readonly CallerScope[]) =>
    db.write(async (tx) => {
      let told = 0
      for (const { scope, lastMs } of callers) {
        const { version } = standing
        if (!(await claimNotice(tx, version, notice.key, scope, clock.now()))) continue
        await record(tx, scope as Scope, eventOf(notice, standing, lastMs))
        told++
      }
      return told
    })

  const sweep = async (notice: Notice, standing: Standing, known: Set<number>) => {
    await ledger.flush()
    let told = 0
    for (;;) {
      const callers = await untold(db, standing.version, notice.key, lately(), SLICE)
      if (callers.length > 0) told += await tell(notice, standing, callers)
      for (const { scope } of callers) known.add(scope)
      if (callers.length < SLICE) return told
    }
  }

  return async (): Promise<number> => {
    let told = 0
    const still = new Map<string, Set<number>>()
    for (const version of board.versions) {
      const standing = board.standing(version)!
      const calling = ledger.takeCallers(version)
      for (const notice of dueNotices(standing.calendar, clock.now())) {
        const name = `${version} ${notice.key}`
        const before = heard.get(name)
        const known = before ?? new Set<number>()
        if (!before) told += await sweep(notice, standing, known)
        const missed = calling.filter(
          ({ scope, lastMs }) => !known.has(scope) && lastMs >= lately(),
        )
        if (missed.length > 0) told += await tell(notice, standing, missed)
        for (const { scope } of missed) known.add(scope)
        still.set(name, known)
      }
    }
    // Only now: had it failed halfway, all would be looked for again.
    heard = still
    return told
  }
}
