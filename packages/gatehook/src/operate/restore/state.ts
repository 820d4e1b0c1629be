/**
 * The state of an installation whose data was restored (§18.5): a setting that every node follows.
 * While it is held, no node sends deliveries and mail, or runs jobs.
 */
import type { Actor } from '../../history/audit/actor.ts'
import { type AuditContext, findDataTime, recordAudit } from '../../history/audit/store.ts'
import type { Database, Reader, Tx, Value } from '../../platform/storage/database.ts'
import {
  deleteSetting,
  readSetting,
  selectSetting,
  writeSetting,
} from '../../platform/storage/settings.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'

/** Why a start treats the data as restored: a copy, another public host, `--restored`. */
export const RESTORE_REASONS = ['copy', 'host', 'option'] as const
/** Whether revocations since the backup are in the database. */
export const REVOCATION_STATES = ['unknown', 'applied', 'confirmed'] as const

/** Times are epoch milliseconds. */
export interface RestoreState {
  readonly recognized_at: number
  readonly reason: (typeof RESTORE_REASONS)[number]
  /** The newest entry of the audit trail in the restored data. */
  readonly data_through: number
  /** The public host of the start that recognized the data; null for a loopback address. */
  readonly host: string | null
  readonly released_at: number | null
  readonly revocations: (typeof REVOCATION_STATES)[number]
}

const STATE = 'restore'
const HOST = 'public_host'

export const readRestoreState = (reader: Reader) => readSetting<RestoreState>(reader, STATE)
export const writeRestoreState = (tx: Tx, state: RestoreState) => writeSetting(tx, STATE, state)

/** The public host that the installation had at its last start, loopback addresses aside. */
export const readPublicHost = (reader: Reader) => readSetting<string>(reader, HOST)
export const writePublicHost = (tx: Tx, host: string) => writeSetting(tx, HOST, host)

export const isHeld = (state: RestoreState | undefined): boolean => state?.released_at === null

/** Ends the quarantine, and stores the new host. Has no effect without a quarantine. */
export async function releaseRestore(tx: Tx, actor: Actor, context: AuditContext) {
  const state = await readRestoreState(tx)
  if (!state || !isHeld(state)) return state
  const released = { ...state, released_at: context.clock.now() }
  await writeRestoreState(tx, released)
  if (state.host !== null) await writePublicHost(tx, state.host)
  await recordAudit(tx, { actor, action: 'restore.release', target: 'installation' }, context)
  return released
}

interface RevocationEntry {
  readonly actor: Actor
  readonly detail?: Readonly<Record<string, unknown>>
}

/** Stores that an operator misses no revocation since the backup. */
export async function confirmRevocations(tx: Tx, entry: RevocationEntry, context: AuditContext) {
  const state = await readRestoreState(tx)
  if (!state) return state
  const confirmedState = { ...state, revocations: 'confirmed' as const }
  await writeRestoreState(tx, confirmedState)
  const confirmation = { ...entry, action: 'restore.confirm', target: 'installation' }
  await recordAudit(tx, confirmation, context)
  return confirmedState
}

/** Revocations were applied before the start that recognizes the data. */
const APPLIED = 'restore_revocations'

/** Stores that revocations since the backup were applied from a file. */
export async function noteAppliedRevocations(
  tx: Tx,
  entry: RevocationEntry,
  context: AuditContext,
): Promise<void> {
  const state = await readRestoreState(tx)
  if (state?.revocations === 'unknown') {
    await writeRestoreState(tx, { ...state, revocations: 'applied' })
  } else await writeSetting(tx, APPLIED, true)
  const application = { ...entry, action: 'restore.revocations', target: 'installation' }
  await recordAudit(tx, application, context)
}

/**
 * Returns the instant through which the restored data has the audit trail, in epoch milliseconds;
 * before the first start, the newest row.
 */
export async function findDataEnd(reader: Reader, now: number): Promise<number> {
  const state = await readRestoreState(reader)
  return state?.revocations === 'unknown' ? state.data_through : findDataTime(reader, now)
}

/** Returns whether revocations were applied before the first start, once. */
export const takeAppliedRevocations = (tx: Tx): Promise<boolean> => deleteSetting(tx, APPLIED)

/** The state as this node knows it. */
export interface RestoreFollower {
  current(): RestoreState | undefined
  /** When the data was recognized as restored, in epoch milliseconds. */
  restoredAt(): number | undefined
  /** When the installation was released; 0 if it never was held, infinite while it is. */
  heldUntil(): number
  readonly polled: PolledValue
  /** Calls the listener when the installation is held, or released. */
  onChange(listener: (held: boolean) => void): void
}

export async function followRestore(db: Database): Promise<RestoreFollower> {
  const listeners: ((held: boolean) => void)[] = []
  let state = await readRestoreState(db)
  const receive = (value: Value) => {
    const wasHeld = isHeld(state)
    state = value === null ? undefined : (JSON.parse(String(value)) as RestoreState)
    if (isHeld(state) !== wasHeld) for (const listener of listeners) listener(!wasHeld)
  }
  return {
    current: () => state,
    restoredAt: () => state?.recognized_at,
    heldUntil: () => (state ? (state.released_at ?? Number.POSITIVE_INFINITY) : 0),
    polled: { select: () => selectSetting(STATE), receive },
    onChange: (listener) => void listeners.push(listener),
  }
}
