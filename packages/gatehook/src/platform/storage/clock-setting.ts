/**
 * The stored setting of the test clock (§12.6): one node sets it (`operate/system/clock.ts`), every
 * node follows it. `kernel/clock.ts` has the clock itself.
 */
import type { ClockSetting, SettableClock } from '../../kernel/clock.ts'
import { startInterval } from '../../kernel/interval.ts'
import type { Log } from '../../kernel/log.ts'
import type { Database } from './database.ts'
import { readSetting } from './settings.ts'

export const CLOCK_SETTING = 'test_clock'
const FOLLOW_INTERVAL_MS = 500

/** Each change increments `revision`, so that a late read never turns time back. */
export interface StoredClock extends ClockSetting {
  readonly revision: number
}

interface FollowedClock {
  readonly db: Database
  readonly clock: SettableClock
}

/** Creates a follower, which applies the stored setting and never changes it. */
export function clockFollower({ db, clock }: FollowedClock) {
  let revision = 0
  const apply = (setting: StoredClock) => {
    if (setting.revision <= revision) return
    revision = setting.revision
    clock.apply({ offsetMs: setting.offsetMs, frozenAtMs: setting.frozenAtMs })
  }
  const follow = async () => {
    const setting = await readSetting<StoredClock>(db, CLOCK_SETTING)
    if (setting) apply(setting)
  }
  return { apply, follow }
}

/**
 * Applies the stored setting on this node, within a second of a change (§12.6). After a failed
 * read, the clock runs on as before.
 *
 * @returns Stops following.
 */
export const followClock = (keeper: { readonly follow: () => Promise<void> }, log: Log) =>
  startInterval({
    intervalMs: FOLLOW_INTERVAL_MS,
    run: keeper.follow,
    log,
    failure: 'the test clock could not be read',
  })
