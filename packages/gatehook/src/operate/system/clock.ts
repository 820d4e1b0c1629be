/**
 * Sets the test clock (§12.6); `platform/storage/clock-setting.ts` applies the setting on every
 * node, and `kernel/clock.ts` has the clock itself.
 */
import type { Actor } from '../../history/audit/actor.ts'
import { type AuditSigner, recordAudit } from '../../history/audit/store.ts'
import type { SettableClock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Random } from '../../kernel/random.ts'
import { isoTime } from '../../kernel/time.ts'
import {
  CLOCK_SETTING,
  clockFollower,
  type StoredClock,
} from '../../platform/storage/clock-setting.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { claimSetting, lockSetting, writeSetting } from '../../platform/storage/settings.ts'
import { invalidMembers } from '../../protocol/fields/body.ts'
import { b, type JsonOf, type ValuesOf } from '../../protocol/fields/members.ts'

const MAX_ADVANCE_S = 100 * 365 * 86_400
/** The latest instant: years have four digits, and a day later the clock still runs. */
const LAST_MS = Date.UTC(9999, 11, 31)

const INITIAL_SETTING: StoredClock = { offsetMs: 0, frozenAtMs: null, revision: 0 }

export const clockState = b
  .object({
    now: b.time().describe('The time of the service.'),
    frozen: b.bool().describe('Whether the clock is frozen.').example(false),
  })
  .named('Clock')

export type ClockState = JsonOf<typeof clockState>

export interface ClockKeeper {
  state(): ClockState
  /** Applies the stored setting. An interval runs it. */
  follow(): Promise<void>
  /**
   * Sets the clock to `now`, or advances it by `advance_s` seconds. `freeze` stops or resumes it;
   * without it the clock continues as before. Throws 409 `clock_backwards`, 422.
   *
   * @param within the transaction of the request; default: a new one
   */
  set(input: ClockChange, actor: Actor, within?: Tx): Promise<ClockState>
}

interface ClockKeeperDeps {
  readonly db: Database
  readonly clock: SettableClock
  readonly random: Random
  readonly trail: AuditSigner
}

/** The body of a change: `now` or `advance_s`, `freeze`, or both. */
export const clockChange = {
  now: b.instant().optional(),
  advance_s: b
    .int(-MAX_ADVANCE_S, MAX_ADVANCE_S)
    .optional()
    .describe('Seconds from now.')
    .example(86_400),
  freeze: b.bool().optional().describe('Stops the clock, or lets it run.').example(true),
}

type ClockChange = ValuesOf<typeof clockChange>

export function clockKeeper({ db, clock, ...sources }: ClockKeeperDeps): ClockKeeper {
  const { apply, follow } = clockFollower({ db, clock })
  const state = (): ClockState => ({
    now: isoTime(clock.now()),
    frozen: clock.setting.frozenAtMs !== null,
  })
  return {
    state,
    follow,
    async set(body, actor, within) {
      const change = async (tx: Tx): Promise<ClockState> => {
        const setting = await lockStored(tx)
        apply(setting)
        const target = targetOf(body, clock.now())
        const freeze = body.freeze ?? setting.frozenAtMs !== null
        const next = { ...clock.settingFor(target, freeze), revision: setting.revision + 1 }
        await writeSetting(tx, CLOCK_SETTING, next)
        const detail = { now: isoTime(target), frozen: freeze }
        await recordAudit(
          tx,
          { actor, action: 'clock.set', target: 'clock', detail },
          { clock, ...sources },
        )
        tx.afterCommit(() => apply(next))
        return detail
      }
      return within ? change(within) : db.write(change)
    },
  }
}

/** Locks the setting, so that concurrent changes run one after the other. */
async function lockStored(tx: Tx): Promise<StoredClock> {
  await claimSetting(tx, CLOCK_SETTING, INITIAL_SETTING)
  return (await lockSetting<StoredClock>(tx, CLOCK_SETTING))!
}

function targetOf(body: ClockChange, now: number): number {
  const mistake = (pointer: string, message: string) =>
    invalidMembers([{ pointer, code: 'invalid_value', message }])
  if (body.now !== undefined && body.advance_s !== undefined) {
    throw mistake('/advance_s', 'must not be sent with now')
  }
  if (body.now === undefined && body.advance_s === undefined && body.freeze === undefined) {
    throw mistake('', 'must have now, advance_s or freeze')
  }
  const target = body.now ?? now + (body.advance_s ?? 0) * 1000
  if (target < now) throw new Failure('clock_backwards', `It is ${isoTime(now)} already.`)
  if (target > LAST_MS) {
    const pointer = body.now === undefined ? '/advance_s' : '/now'
    throw mistake(pointer, 'must not pass the year 9999')
  }
  return target
}
