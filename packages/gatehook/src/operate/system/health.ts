/** The readiness checks of a node (§12.1). `assembly/readiness.ts` lists them. */

import { pendingMigrations } from '../../engine-tables.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import { resolveWithin } from '../../kernel/resolve-within.ts'
import type { Database } from '../../platform/storage/database.ts'
import { type MoveMark, readMark } from '../../platform/storage/move/mark.ts'
import { isPrimarySentence, primaryFaults } from '../../platform/storage/primary-fault.ts'
import { writeSetting } from '../../platform/storage/settings.ts'
import { sql } from '../../platform/storage/sql.ts'
import { describeStorageFailure, isMoved } from '../../platform/storage/storage-failure.ts'
import { INSTALLATION_MOVED, isInstallationMoved } from '../../platform/storage/transaction.ts'

/** A sentence for any caller, and one with names for operators if that says more. */
interface DetailedReason {
  readonly message: string
  readonly detail: string
}
export type HealthResult = string | DetailedReason | undefined

/** Returns undefined, or why the node is not ready. */
export type HealthCheck = () => Promise<HealthResult> | HealthResult
export type HealthChecks = Readonly<Record<string, HealthCheck>>

/** Says why a check fails or is late, as the process knows it. */
export type DelayReason = () => HealthResult

export interface UnreadyReason extends Partial<DetailedReason> {
  readonly check: string
  readonly message: string
}

const detailed = (message: string, detail: string | undefined): string | DetailedReason => {
  if (detail === undefined) return message
  return isPrimarySentence(detail) ? detail : { message, detail }
}

/** Returns a reason as operators read it. */
export const reasonForOperators = ({ check, message, detail }: UnreadyReason) => ({
  check,
  message: detail ?? message,
})

/** Returns a reason as any caller reads it. */
export const reasonForCallers = ({ check, message }: UnreadyReason) => ({ check, message })

const CHECK_TIMEOUT_MS = 2000

/**
 * Runs all checks and returns the reasons why the node is not ready. A check has 2 s.
 * `explainDelay` says why it may need more.
 */
export async function listUnreadyReasons(
  checks: HealthChecks,
  log: Log,
  explainDelay: DelayReason = () => undefined,
): Promise<UnreadyReason[]> {
  const all = Object.entries(checks).map(
    async ([check, run]): Promise<UnreadyReason | undefined> => {
      const result = await runInTime(run, explainDelay).catch((error: unknown) => {
        log.warn({ err: error, check }, 'a readiness check failed')
        if (!(error instanceof Failure)) return 'This check failed; the log says more.'
        // The sentences of failures are written for callers.
        return detailed(error.message, describeStorageFailure(error))
      })
      return result === undefined ? undefined : reasonOf(check, result)
    },
  )
  return (await Promise.all(all)).filter((reason) => reason !== undefined)
}

const reasonOf = (check: string, result: string | DetailedReason): UnreadyReason =>
  typeof result === 'string' ? { check, message: result } : { check, ...result }

const LATE = `No answer within ${CHECK_TIMEOUT_MS} ms.`

/** Whether a check found no answer of the primary: an earlier fault, or none that has a name. */
const isOfPrimary = ({ message, detail = message }: UnreadyReason): boolean =>
  isPrimarySentence(detail) || message.startsWith(LATE)

/**
 * Gives the checks that query the primary the present reason why it is away: before, they found an
 * earlier fault or none.
 */
export const explainByPrimary = (
  reasons: readonly UnreadyReason[],
  primary: HealthResult,
): readonly UnreadyReason[] =>
  primary === undefined
    ? reasons
    : reasons.map((reason) => (isOfPrimary(reason) ? reasonOf(reason.check, primary) : reason))

/** Checks whose fault delays the others, which query the same database. */
const DELAYING: ReadonlySet<string> = new Set(['primary', 'durability', 'writes', 'database'])

/**
 * Leaves out the reasons that repeat the sentence of the primary, and late checks without a reason
 * of their own beside the fault that delays them.
 */
export function withoutRepetition(reasons: readonly UnreadyReason[]): readonly UnreadyReason[] {
  const ofPrimary = reasons.filter(({ message }) => isPrimarySentence(message))
  const named = ofPrimary.find(({ check }) => check === 'primary') ?? ofPrimary[0]
  const isDelayed = reasons.some(({ check, message }) => DELAYING.has(check) && message !== LATE)
  return reasons.filter(
    (reason) =>
      reason === named ||
      (reason.message !== named?.message && !(isDelayed && reason.message === LATE)),
  )
}

async function runInTime(run: HealthCheck, explainDelay: DelayReason): Promise<HealthResult> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<HealthResult>((resolve) => {
    timer = setTimeout(() => resolve(lateResult(explainDelay())), CHECK_TIMEOUT_MS)
  })
  const result = Promise.resolve().then(run)
  result.catch(() => undefined) // a failure after the timeout has no reader
  return Promise.race([result, timeout]).finally(() => clearTimeout(timer))
}

function lateResult(reason: HealthResult): HealthResult {
  if (reason === undefined) return LATE
  if (typeof reason === 'string') return `${LATE} ${reason}`
  return { message: `${LATE} ${reason.message}`, detail: `${LATE} ${reason.detail}` }
}

const DAMAGED =
  'The database is damaged. Restore a backup, or recover its rows, and restart the node.'

export const databaseCheck =
  (db: Database): HealthCheck =>
  async () => {
    await db.get(sql`SELECT 1 AS one`)
    return db.hasDamage() ? DAMAGED : undefined
  }

/** Returns the checks of a heartbeat: its row proves that the database answers and stores. */
export const heartbeatChecks = (db: Database, checks: HealthChecks): HealthChecks => ({
  ...checks,
  database: () => (db.hasDamage() ? DAMAGED : undefined),
  writes: () => (db.lacksSpace() ? checks.writes?.() : undefined),
  // A moved database stores no row.
  moved: () => undefined,
})

/** Says at once why no primary answers, also while the result of an earlier write is valid. */
export const primaryCheck =
  (primaryFault: Database['fault'], { misled }: Pick<Database, 'misled'>): DelayReason =>
  () => {
    const fault = primaryFault()
    const detail = fault === 'other_database' ? misled() : undefined
    if (fault === undefined || detail === undefined) return fault && primaryFaults[fault]
    return { message: primaryFaults[fault], detail: `${detail} Nothing is read or written there.` }
  }

const MISLED = 'An address of the configuration leads to another database than that of the node.'

/** Warns of the addresses of standbys, or beside a pooler, that lead to another database. */
export const addressWarning =
  (primaryFault: Database['fault'], { misled }: Pick<Database, 'misled'>): HealthCheck =>
  () => {
    const detail = primaryFault() === 'other_database' ? undefined : misled()
    return detail && { message: MISLED, detail: `${detail} The node does not use this address.` }
  }

const EXHAUSTED = primaryFaults.pooler_pool

/** Warns of a pooler whose pool is exhausted: some statements wait, and others are served. */
export const poolerWarning =
  ({ isStarved }: Pick<Database, 'isStarved'>): DelayReason =>
  () =>
    isStarved() ? EXHAUSTED : undefined

/** Warns of the address beside a pooler, while the pooler serves the node. */
export const directWarning =
  (primaryFault: Database['fault'], { directFault }: Pick<Database, 'directFault'>): HealthCheck =>
  () => {
    const fault = primaryFault() === undefined ? directFault() : undefined
    if (fault === undefined) return undefined
    return (
      'The address of GATEHOOK_DATABASE_DIRECT_URL does not serve this node, which has no ' +
      `notifications and cannot name faults behind its pooler meanwhile. ${primaryFaults[fault]}`
    )
  }

/** A new installation is a warning for this time. */
const NEW_MS = 3_600_000

/** Warns of an installation that this start has created, behind a public address. */
export const newInstallationWarning =
  (isNew: boolean, clock: Pick<Clock, 'elapsedMs'>, startMs = clock.elapsedMs()): HealthCheck =>
  () =>
    isNew && clock.elapsedMs() - startMs < NEW_MS
      ? 'The start of this node has created the installation, in an empty database. If other ' +
        'nodes serve one that has keys already, correct GATEHOOK_DATABASE_URL of this node.'
      : undefined

const NO_WRITES = 'The database does not accept writes at the moment.'
const MOVED_FILES =
  'Files of the database were moved, removed or replaced while the node uses them: writes are 503.'

const FULL_DISK = 'The disk of the database is full. Free space, or enlarge it.'

/** How long the result of a write is valid: probes must not cause a load of writes. */
const WRITE_INTERVAL_MS = 5000

/** The check of a move has its answer within this time. */
const MOVED_MS = CHECK_TIMEOUT_MS / 2

/** Less free space is a full disk, once a write has failed for want of it. */
const LEAST_SPACE_BYTES = 1_048_576

/** Sentences for the source of a move (§18.6), by the state of its mark. */
const MOVES: Partial<Record<MoveMark['state'], string>> = {
  stopped:
    'This installation is being moved to another database, and this side is read-only. If the ' +
    'command was interrupted, repeat gatehook move where it ran.',
  moved:
    'This installation was moved to another database, and this side is read-only. Start the ' +
    'nodes with the address of the other one; gatehook move --undo returns here.',
}

async function describeMove(db: Database): Promise<HealthResult> {
  const mark = await readMark(db).catch(() => undefined)
  const sentence = mark && MOVES[mark.state]
  if (!mark || !sentence) return INSTALLATION_MOVED
  return { message: sentence, detail: `${sentence} The other database: ${mark.target}` }
}

/** The results of a trial by check. */
type WriteTrial = Partial<Record<'writes' | 'moved', HealthResult>>

/**
 * Checks that the database accepts writes: reads also work on a full disk, on a standby, and in the
 * source of a move. Both checks share a trial, which writes a row at most every 5 s. An update
 * needs no new page, so after a write that found no space it also lets a table grow.
 * `explainFullDisk` names what fills the disk.
 */
export function writeChecks(
  db: Database,
  clock: Clock,
  explainFullDisk: () => string | undefined = () => undefined,
): Readonly<Record<keyof WriteTrial, HealthCheck>> {
  let lastTrial: Promise<WriteTrial> | undefined
  let lastWriteMs = Number.NEGATIVE_INFINITY
  let lackedSpace = false
  const explain = (error: Failure): HealthResult => {
    if (db.lacksSpace()) {
      const consumer = explainFullDisk()
      return consumer ? { message: FULL_DISK, detail: `${FULL_DISK} ${consumer}` } : FULL_DISK
    }
    if (error.code === 'durability_lost') return error.message
    const sentence = isMoved(error) ? MOVED_FILES : NO_WRITES
    return detailed(sentence, describeStorageFailure(error, db.fault()))
  }
  const write = async (): Promise<WriteTrial> => {
    try {
      if (lackedSpace) await db.takeSpace(LEAST_SPACE_BYTES)
      await db.write((tx) => writeSetting(tx, 'last_trial', clock.now()), { single: true })
      return {}
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      return isInstallationMoved(error)
        ? { moved: await describeMove(db) }
        : { writes: explain(error) }
    }
  }
  const tryWrite = () => {
    const lacksSpace = db.lacksSpace()
    const isDue = clock.elapsedMs() - lastWriteMs >= WRITE_INTERVAL_MS
    if (!lastTrial || isDue || (lacksSpace && !lackedSpace)) {
      lackedSpace = lacksSpace
      lastWriteMs = clock.elapsedMs()
      lastTrial = write()
    }
    return lastTrial
  }
  return {
    writes: async () => (await tryWrite()).writes,
    // A trial that fails or hangs is a fault of `writes`.
    moved: () =>
      resolveWithin(
        MOVED_MS,
        tryWrite().then(
          ({ moved }) => moved,
          () => undefined,
        ),
      ),
  }
}

/** Checks the schema until it is complete. Migrations are never reverted. */
export function migrationCheck(db: Database): HealthCheck {
  let isComplete = false
  return async () => {
    isComplete ||= (await pendingMigrations(db)).length === 0
    return isComplete ? undefined : 'The database is not migrated yet.'
  }
}

export const drainCheck =
  (isDraining: () => boolean): HealthCheck =>
  () =>
    isDraining() ? 'This node is shutting down.' : undefined
