/** Checks of `gatehook doctor` on the state of an installation: copy, restore, move, durability. */

import { existsSync } from 'node:fs'
import { listCreatedTables } from '../declare/resources/additions.ts'
import { expectTables } from '../declare/resources/expected-tables.ts'
import { columnUse } from '../declare/resources/schema-check.ts'
import type { Service } from '../declare/resources/service.ts'
import { listFaults, statementsOf } from '../declare/resources/table-faults.ts'
import { engineTables } from '../engine-tables.ts'
import type { Clock } from '../kernel/clock.ts'
import { systemRandom } from '../kernel/random.ts'
import { isoTime } from '../kernel/time.ts'
import { isHeld, readRestoreState } from '../operate/restore/state.ts'
import { listGrants } from '../outbound/emissions/grants.ts'
import { countEmissions } from '../outbound/emissions/store.ts'
import type { Config } from '../platform/config/config.ts'
import { databaseFile } from '../platform/config/environment.ts'
import { createCopyMark, markFile } from '../platform/storage/copy-mark.ts'
import type { Database } from '../platform/storage/database.ts'
import { describeLockHolder, listLockHolders } from '../platform/storage/lock-holders.ts'
import { isUnfinishedTarget, readMark } from '../platform/storage/move/mark.ts'
import { listKeyless, listTables } from '../platform/storage/move/tables.ts'
import {
  confirmsCommits,
  durabilityFaults,
  readCommitSettings,
} from '../platform/storage/server-check.ts'
import { isInstalled } from '../platform/storage/settings.ts'
import { readTableParts } from '../platform/storage/table-parts.ts'
import { type CheckResult, fail, ok, warn } from './doctor-checks.ts'

/** Checks whether the database is the one that its service used last. */
export async function checkCopy(config: Config, db: Database): Promise<CheckResult> {
  const file = databaseFile(config)
  const verdict = await (await createCopyMark(db, file, systemRandom())).verify(db)
  // The mark beside the file says that one has: the log with it is missing.
  const hasLostLog = verdict === 'new' && file !== undefined && existsSync(markFile(file))
  if (verdict === 'new' && !hasLostLog) return ok('no service has used it yet')
  if (verdict === 'same') return ok('the one that its service used last')
  const first = 'Its first start holds deliveries, jobs and mail until gatehook restore release.'
  if (verdict === 'backup') return warn('restored from a backup, and not started since', first)
  const advice =
    file === undefined
      ? ''
      : ` A copy by cp lacks the commits of ${file}-wal: use gatehook backup instead.`
  return warn('a copy: another one was used last', `${first}${advice}`)
}

/** Reports what restored data holds, and revocations that are unknown. */
export async function checkRestore(db: Database): Promise<CheckResult | undefined> {
  if (!(await isInstalled(db))) return undefined
  const state = await readRestoreState(db)
  if (!state) return ok('no restored data')
  if (isHeld(state)) {
    return warn(
      `deliveries, jobs and mail are held since ${isoTime(state.recognized_at)}`,
      'Send and run them when receivers may get the events again: gatehook restore release.',
    )
  }
  if (state.revocations !== 'unknown') return ok(`revocations are ${state.revocations}`)
  return warn(
    `revocations after ${isoTime(state.data_through)} are unknown`,
    'Apply them: gatehook restore --revocations FILE; or revoke by hand, then restore confirm.',
  )
}

/** Reports a move that closed the database, or that has not ended. */
export async function checkMove(db: Database): Promise<CheckResult> {
  const mark = await readMark(db)
  if (!mark) return ok('not moved')
  if (await isUnfinishedTarget(db)) {
    return fail(
      'it is the target of a move that has not finished, and lacks rows of the source',
      'Run gatehook move again where the source is. Start no node on this database before.',
    )
  }
  const { state, target } = mark
  if (state === 'moved') {
    return fail(
      `it was moved to ${target}, and accepts no writes`,
      'Use that database in GATEHOOK_DATABASE_URL, or return to this one: gatehook move --undo.',
    )
  }
  const effect = state === 'stopped' ? 'accepts no writes until it ends' : 'copies rows'
  return warn(
    `a move to ${target} ${effect}`,
    'Run gatehook move again to continue it, or end it: gatehook move --undo.',
  )
}

/** Checks that the server stores commits as the configuration requires. */
export async function checkDurability(
  { durability }: Pick<Config, 'durability'>,
  db: Database,
): Promise<CheckResult | undefined> {
  const settings = await readCommitSettings(db)
  if (!settings) return undefined
  const { standbys, fault, off } = settings
  const isFault = fault === 'unconfirmed' ? !(await confirmsCommits(db)) : Boolean(fault)
  if (durability === 'replica' && fault && isFault) {
    const { message, advice } = durabilityFaults[fault]
    return fail(`writes are 503: ${message}`, advice)
  }
  if (off.length > 0) {
    return fail(
      `${off.join(' and ')} ${off.length > 1 ? 'are' : 'is'} off`,
      'Switch it on: a crash of the server loses acknowledged writes, or damages the database.',
    )
  }
  if (durability === 'local') return ok('a commit is on the disk of the primary')
  const names = `synchronous_standby_names is ${standbys}`
  return ok(standbys === null ? 'the server is a standby' : names)
}

/** Names rights, columns and partitions that tables lack, and tables that a crash empties. */
export async function checkTables(
  db: Database,
  service: Service | undefined,
): Promise<CheckResult | undefined> {
  if (!(await isInstalled(db))) return undefined
  const declared = Object.keys(columnUse(service?.definition.resources ?? []))
  const tables = [...engineTables.map(({ name }) => name), ...declared]
  const parts = await readTableParts(db, tables)
  const { grants } = parts
  if (grants.length > 0) return fail('the role lacks rights', `${statementsOf(grants)}.`)
  const expected = expectTables(db.dialect, service?.definition.resources ?? [])
  const faults = listFaults(parts, new Map(), expected)
  if (faults.length === 0) return checkKeys(db)
  const repair = statementsOf(faults.flatMap(([, , statements]) => statements))
  return fail(faults.map(([, detail]) => detail).join(' '), `${repair}.`)
}

/** Names tables of the service, of its migrations included, that no move could copy. */
async function checkKeys(db: Database): Promise<CheckResult> {
  const present = new Set(await listTables(db))
  const created = [...(await listCreatedTables(db))].filter((name) => present.has(name))
  const keyless = await listKeyless(db, created)
  if (keyless.length === 0) return ok('logged, and without foreign triggers')
  return warn(
    `no primary key: ${keyless.join(', ')}`,
    'gatehook move copies no table without one: add it in a migration.',
  )
}

/** Names the sessions for whose locks statements wait, or for whose transaction streams wait. */
export async function checkLocks(db: Database): Promise<CheckResult | undefined> {
  const holders = await listLockHolders(db)
  if (!holders) return undefined
  if (holders.length === 0) return ok('no statement or stream waits for another session')
  const verdict = holders.some(({ waiting }) => waiting > 0) ? fail : warn
  return verdict(
    holders.map(describeLockHolder).join(' '),
    'End it: docs/guides/operations.md, "A session holds a lock".',
  )
}

/** Held events of the team's transactions, and those that no node records. */
const EMISSIONS_MAX = 10_000
const WAITING_MS = 60_000

/** Reports events of the team's transactions that wait, or that do not fit (§17.2). */
export async function checkOutbox(
  db: Database,
  { now }: Pick<Clock, 'now'>,
): Promise<CheckResult | undefined> {
  if (!(await isInstalled(db))) return undefined
  const grants = await listGrants(db)
  if (grants.length === 0) return ok('no role emits events')
  const { held, waiting } = await countEmissions(db, now() - WAITING_MS, EMISSIONS_MAX)
  const roles = grants.map(({ role }) => role).join(', ')
  if (held > 0) {
    const remedy = 'Correct their declaration and start, or: gatehook outbox discard ID'
    const [words, reasons] = held === 1 ? ['event is', 'reason'] : ['events are', 'reasons']
    return warn(`${held} ${words} held: gatehook outbox held has the ${reasons}`, remedy)
  }
  if (waiting === 0) return ok(`events of ${roles}`)
  const words = waiting === 1 ? 'event waits' : 'events wait'
  return warn(`${waiting} ${words} for more than a minute`, 'Start a node: it records what waits.')
}
