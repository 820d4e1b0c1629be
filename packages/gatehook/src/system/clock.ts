/**
 * The test clock (§12.6): set by one node, kept in the database, followed by all. `kernel/clock.ts`
 * has the clock itself; here is who may move it, and how the others hear of it.
 */
import { type Actor, type AuditSigner, recordAudit } from '../audit/store.ts'
import type { ClockSetting, SettableClock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import { startInterval } from '../kernel/interval.ts'
import type { Log } from '../kernel/log.ts'
import {
  bool,
  instant,
  integer,
  invalidMembers,
  optional,
  readMembers,
  type ValuesOf,
} from '../kernel/members.ts'
import type { Random } from '../kernel/random.ts'
import { isoTime } from '../kernel/time.ts'
import type { Database, Tx } from '../storage/database.ts'
import { readSetting, writeSetting } from '../storage/settings.ts'
import { sql } from '../storage/sql.ts'

const SETTING = 'test_clock'
const FOLLOW_INTERVAL_MS = 500
const MAX_ADVANCE_S = 100 * 365 * 86_400
/** Instants are written with four digits of year. */
const LAST_MS = Date.UTC(9999, 11, 31)

/** As stored: `revision` grows with each change, so that a late reader never turns time back. */
interface Stored extends ClockSetting {
  readonly revision: number
}

const UNTOUCHED: Stored = { offsetMs: 0, frozenAtMs: null, revision: 0 }

export interface ClockState {
  readonly now: string
  readonly frozen: boolean
}

export interface ClockKeeper {
  state(): ClockState
  /** Takes over what the database says; a loop calls it. */
  follow(): Promise<void>
  /**
   * `{now}` or `{advance_s}`, `freeze?`: jumps there, then ticks on or stands; without `freeze` as
   * before. Throws 409 `clock_backwards`, 422. `within`: the transaction it belongs to.
   */
  set(input: unknown, actor: Actor, within?: Tx): Promise<ClockState>
}

export interface ClockKeeperDeps {
  readonly db: Database
  readonly clock: SettableClock
  readonly random: Random
  readonly trail: AuditSigner
}

const members = {
  now: optional(instant),
  advance_s: optional(integer(-MAX_ADVANCE_S, MAX_ADVANCE_S)),
  freeze: optional(bool),
}

/** Follows what is stored; changes nothing there. */
export function clockFollower({ db, clock }: Pick<ClockKeeperDeps, 'db' | 'clock'>) {
  let revision = 0
  const take = (stored: Stored) => {
    if (stored.revision <= revision) return
    revision = stored.revision
    clock.apply({ offsetMs: stored.offsetMs, frozenAtMs: stored.frozenAtMs })
  }
  const follow = async () => {
    const stored = await readSetting<Stored>(db, SETTING)
    if (stored) take(stored)
  }
  return { take, follow }
}

export function clockKeeper({ db, clock, ...sources }: ClockKeeperDeps): ClockKeeper {
  const { take, follow } = clockFollower({ db, clock })
  const state = (): ClockState => ({
    now: isoTime(clock.now()),
    frozen: clock.setting.frozenAtMs !== null,
  })
  return {
    state,
    follow,
    async set(input, actor, within) {
      const wish = readMembers(input, members)
      const change = async (tx: Tx): Promise<ClockState> => {
        const stored = await lockStored(tx)
        take(stored)
        const target = targetOf(wish, clock.now())
        const freeze = wish.freeze ?? stored.frozenAtMs !== null
        const next = { ...clock.settingFor(target, freeze), revision: stored.revision + 1 }
        await writeSetting(tx, SETTING, next)
        const detail = { now: isoTime(target), frozen: freeze }
        await recordAudit(
          tx,
          { actor, action: 'clock.set', target: 'clock', detail },
          { clock, ...sources },
        )
        tx.afterCommit(() => take(next))
        return detail
      }
      return within ? change(within) : db.write(change)
    },
  }
}

/** The row is made first, so that there is one to lock and two changes come one after the other. */
async function lockStored(tx: Tx): Promise<Stored> {
  await tx.run(sql`INSERT INTO gh_settings (name, value)
    VALUES (${SETTING}, ${JSON.stringify(UNTOUCHED)}) ON CONFLICT (name) DO NOTHING`)
  const row = await tx.lock(sql`SELECT value FROM gh_settings WHERE name = ${SETTING}`)
  return JSON.parse(row!.value) as Stored
}

function targetOf(wish: ValuesOf<typeof members>, now: number): number {
  const wrong = (pointer: string, message: string) =>
    invalidMembers([{ pointer, code: 'invalid_value', message }])
  if (wish.now !== undefined && wish.advance_s !== undefined) {
    throw wrong('/advance_s', 'must not stand beside now')
  }
  if (wish.now === undefined && wish.advance_s === undefined && wish.freeze === undefined) {
    throw wrong('', 'must have now, advance_s or freeze')
  }
  const target = wish.now ?? now + (wish.advance_s ?? 0) * 1000
  if (target < now) throw new Failure('clock_backwards', `It is ${isoTime(now)} already.`)
  if (target > LAST_MS) throw wrong('/advance_s', 'must not lead beyond the year 9999')
  return target
}

/**
 * Applies the stored setting on this node, within a second of a change (§12.6). After a failed
 * read, the clock runs on as before.
 *
 * @returns Stops following.
 */
export const followClock = (keeper: Pick<ClockKeeper, 'follow'>, log: Log) =>
  startInterval({
    intervalMs: FOLLOW_INTERVAL_MS,
    run: keeper.follow,
    log,
    failure: 'the test clock could not be read',
  })
