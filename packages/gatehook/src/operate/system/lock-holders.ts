/**
 * The sessions of PostgreSQL for which statements or event streams wait, as the polls of the node
 * have met them in the last seconds: between two polls statements fail, and others begin to wait.
 * On SQLite, the process that holds the lock of the file.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Database } from '../../platform/storage/database.ts'
import { describeFileLock } from '../../platform/storage/file-lock-holder.ts'
import {
  describeLockHolder,
  holderOfFile,
  type LockHolder,
  parseLockHolders,
  selectLockHolders,
} from '../../platform/storage/lock-holders.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import type { Sql } from '../../platform/storage/sql.ts'
import { gauge, type Metric } from '../../platform/telemetry/metric.ts'
import type { HealthCheck } from './health.ts'
import { createLastingStates, type Lasting } from './lasting-state.ts'

const HELD_FILE = 'Writes wait for the lock of another process on the database file.'

export type HeldLock = Lasting<LockHolder>

export interface LockHolders {
  readonly polled: readonly PolledValue[]
  list(): readonly HeldLock[]
  /** A warning for `/readyz`; operators read who holds the lock. */
  readonly warning: HealthCheck
  /** The same of a SQLite file. */
  readonly fileWarning: () => { readonly message: string; readonly detail: string } | undefined
  readonly metric: Metric
}

interface LockHoldersOptions {
  readonly db: Pick<Database, 'name' | 'heldFile'>
  readonly clock: Pick<Clock, 'now' | 'elapsedMs'>
  readonly log: Log
}

export function createLockHolders({ db, clock, log }: LockHoldersOptions): LockHolders {
  const { list: listMet, meet } = createLastingStates<LockHolder>(clock)
  const list = (): readonly HeldLock[] => {
    const lock = db.heldFile?.()
    return lock ? [{ ...holderOfFile(lock), sinceMs: lock.sinceMs }] : listMet()
  }
  const fileWarning = () => {
    const lock = db.heldFile?.()
    return lock && { message: HELD_FILE, detail: describeFileLock(lock.holder, lock.waiting) }
  }
  const polledHolders = (select: Sql): PolledValue => ({
    select: () => select,
    receive(value) {
      for (const holder of parseLockHolders(value)) {
        // The warning of slow commits names the standby.
        if (holder.awaitsStandby) continue
        const isNew = meet(holder.pid, holder, clock.now() - (holder.ageS ?? 0) * 1000)
        if (isNew) log.warn({ session: holder }, describeLockHolder(holder))
      }
    },
  })
  const select = selectLockHolders(db)
  return {
    polled: select ? [polledHolders(select)] : [],
    list,
    fileWarning,
    warning() {
      const held = fileWarning()
      if (held) return held
      const sentences = list().map(describeLockHolder)
      if (sentences.length === 0) return undefined
      const message = list().some(({ waiting }) => waiting > 0)
        ? 'Statements wait for the lock of another session of the database.'
        : 'Event streams wait for a long transaction of another session of the database.'
      return { message, detail: sentences.join(' ') }
    },
    metric: gauge(
      'gatehook_lock_holders',
      'Sessions of PostgreSQL, or processes with the lock of the SQLite file, for whose locks ' +
        'statements have waited for more than 1 s.',
      () => list().filter(({ waiting }) => waiting > 0).length,
    ),
  }
}
